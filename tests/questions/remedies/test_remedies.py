# Remedies on drawn timelines, whose bounds can be told by hand.

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.answers.answer import Answer
from netcost_analysis.capture.requires import MissingEventsError
from netcost_analysis.display.templates import as_html, as_text
from netcost_analysis.errors import ArgumentError
from support.device_bundles import bundle
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.perfdata.features import Header
from support.perfdata.tracepoints import FORMATS
from support.told import KSOFTIRQD, NET_RX, OPENSSL, UDPSINK, robbed

# Of robbed(): 12 rounds, from the first event to the last.
ROUNDS, ROUND, LAST = 12, 100_000, 1_000 + 11 * 100_000 + 60_000
WINDOW = LAST - 1_000
# A handler; a NET_RX with its two polls; one that only sends packets to another CPU.
IRQ, SOFTIRQ, VECTOR, DISPATCH = 2_000, 12_500, 1_500, 2_000
REMEDIES = ("rps", "irq_affinity", "deferral_off", "larger_batches")
BOUNDS = ("removable_ns", "gain_max_ns")
NOTHING = {"finding": "no gain", **dict.fromkeys(BOUNDS, 0)}


# CPU 1, from the first event of CPU 0 to its last: busy first, idle for so long at the end.
def other(idle_ns: int, task: h.Task = UDPSINK) -> Cpu:
    begin, end = (h.Waking(at, KSOFTIRQD, 1) for at in (1_000, LAST))
    if idle_ns == WINDOW:
        return cpu(1, begin, end)
    switch = h.Switch(LAST - idle_ns, h.idle(1), 1)
    return cpu(1, *((begin, switch, end) if idle_ns else (begin, end)), task=task)


def third() -> Cpu:
    return cpu(2, h.Waking(1_000, KSOFTIRQD, 2), h.Waking(LAST, KSOFTIRQD, 2))


def asked(path: Path, *cpus: Cpu, **header: Any) -> Answer:
    known = (OPENSSL, UDPSINK, KSOFTIRQD)
    file = recording(*cpus, known=known, header=Header(**header)).write(path / "perf.data")
    return netcost.open_capture(file).ask.remedies.remedies(victim="openssl")


# By remedy its row, None where a figure is not known.
def rows(answer: Answer) -> dict[str, dict[str, Any]]:
    frame = answer.frame.astype(object).where(answer.frame.notna(), None)
    assert set(frame["remedy"]) == set(REMEDIES)
    return {row["remedy"]: row for row in frame.to_dict("records")}


# What a CPU that is idle takes over: so much of each round.
def taken(each_ns: int, **more: Any) -> dict[str, Any]:
    return {"finding": "gain", **dict.fromkeys(BOUNDS, ROUNDS * each_ns), **more}


# Rounds as robbed() has them, of a NET_RX that these raise at the round's start.
def received(packets: int, *raised: h.Happening, begin: int = 1_000) -> list[h.Happening]:
    return [
        replace(one, at=one.at + start)
        for start in range(begin, begin + ROUNDS * ROUND, ROUND)
        for one in (
            *raised,
            h.SoftirqEntry(2_500, NET_RX),
            h.NapiPoll(14_500, "(no_device)", packets),
            h.SoftirqExit(15_000, NET_RX),
            h.Waking(60_000, UDPSINK),
        )
    ]


# What another CPU steers here: an interrupt of that CPU, which no device's affinity moves.
def steered(begin: int = 1_000) -> list[h.Happening]:
    came = h.VectorEntry(0, "call_function_single"), h.SoftirqRaise(1_000, NET_RX)
    return received(8, *came, h.VectorExit(VECTOR, "call_function_single"), begin=begin)


# A NET_RX that polls nothing steers, and goes on doing so; or it was asked to free buffers.
def dispatching() -> Cpu:
    told: list[h.Happening] = []
    for one in robbed().happenings:
        told.append(one)
        if isinstance(one, h.SoftirqExit):
            told.insert(-1, h.SoftirqRaise(one.at - 100, NET_RX))
            told.append(h.SoftirqEntry(one.at + 100, NET_RX))
            told.append(h.SoftirqExit(one.at + 100 + DISPATCH, NET_RX))
    return cpu(0, *told, task=OPENSSL)


# A device first, and then another CPU that steers here.
def both() -> tuple[Cpu, Cpu]:
    told = [*robbed().happenings, *steered(1_000 + ROUNDS * ROUND)]
    end = told[-1].at
    idle = cpu(1, h.Waking(1_000, KSOFTIRQD, 1), h.Waking(end, KSOFTIRQD, 1))
    return cpu(0, *told, task=OPENSSL), idle


# Local traffic: the sender receives for the receiver, in a softirq that it raised itself.
def sending() -> Cpu:
    sent = h.BhDisable(0), h.SoftirqRaise(500, NET_RX), h.BhEnable(1_000)
    return cpu(0, *received(1, *sent), task=OPENSSL)


# It waits while ksoftirqd does network work.
def waiting() -> tuple[Cpu, Cpu]:
    told = [
        *robbed().happenings,
        h.Wakeup(LAST + 1_000, KSOFTIRQD),
        h.Switch(LAST + 2_000, KSOFTIRQD, 0),
        h.SoftirqEntry(LAST + 2_500, NET_RX),
        h.NapiPoll(LAST + 40_000, "eth0", 64),
        h.SoftirqExit(LAST + 41_000, NET_RX),
        h.Switch(LAST + 42_000, OPENSSL, 1),
        h.Waking(LAST + 90_000, UDPSINK),
    ]
    idle = cpu(1, h.Waking(1_000, KSOFTIRQD, 1), h.Waking(LAST + 90_000, KSOFTIRQD, 1))
    return cpu(0, *told, task=OPENSSL), idle


# The victim ran on the CPU that would take over too, and is robbed there.
def twice() -> tuple[Cpu, Cpu]:
    twin = robbed(1, h.Task(501, "openssl"), rounds=2)
    leaves = (h.Switch(170_000, h.idle(1), 1), h.Waking(LAST, KSOFTIRQD, 1))
    return robbed(), cpu(1, *twin.happenings, *leaves, task=twin.task)


# CPUs, fields of the header, and of each remedy what its row has.
CASES: dict[str, tuple[tuple[Cpu, ...], dict[str, Any], dict[str, dict[str, Any]]]] = {
    "idle CPU": (
        *((robbed(), other(WINDOW)), {}),
        {
            # A driver's work cannot be told from the stack's, nor a free from its poll.
            "rps": taken(SOFTIRQ, rank=2, certainty="loosely bounded", payer="idle CPU"),
            "irq_affinity": taken(IRQ + SOFTIRQ, rank=1, certainty="bounded", payer="idle CPU"),
            "deferral_off": taken(SOFTIRQ, rank=3, certainty="loosely bounded", payer="receivers"),
            "larger_batches": {**dict.fromkeys(BOUNDS), "finding": "unknown", "rank": None},
        },
    ),
    "CPU idle at times": (
        *((robbed(), other(50_000)), {}),
        {"rps": taken(SOFTIRQ, gain_max_ns=50_000, payer="tasks", payer_comm="udpsink")},
    ),
    # Who receives may be on either.
    "most idle CPU": (
        *((robbed(), other(50_000), third()), {"nr_cpus": 3}),
        {"rps": taken(SOFTIRQ, target_cpu=2), "deferral_off": {"idle_ns": WINDOW + 50_000}},
    ),
    "robbed there too": (
        *(twice(), {}),
        {"rps": taken(SOFTIRQ, removable_ns=(ROUNDS + 2) * SOFTIRQ, idle_ns=LAST - 170_000)},
    ),
    "one CPU": ((robbed(),), {"nr_cpus": 1}, dict.fromkeys(REMEDIES[:3], NOTHING)),
    "others not recorded": (
        *((robbed(),), {"nr_cpus": 2}),
        {"rps": {"finding": "unknown", "gain_max_ns": None, "rank": None, "target_cpu": None}},
    ),
    "receivers not recorded": (
        *((robbed(), other(WINDOW)), {"nr_cpus": 3}),
        {"rps": {"finding": "gain"}, "deferral_off": {"finding": "unknown"}},
    ),
    "steered": (
        *((cpu(0, *steered(), task=OPENSSL), other(WINDOW)), {}),
        {"rps": taken(SOFTIRQ + VECTOR, certainty="bounded"), "irq_affinity": NOTHING},
    ),
    "dispatch": (
        *((dispatching(), other(WINDOW)), {}),
        {"rps": taken(SOFTIRQ), "deferral_off": taken(SOFTIRQ + DISPATCH)},
    ),
    # Affinity takes the device's part, steering all but the handlers.
    "device and steered": (
        *(both(), {}),
        {"irq_affinity": taken(IRQ + SOFTIRQ), "rps": taken(2 * SOFTIRQ + VECTOR)},
    ),
    "own sends": (
        *((sending(), other(WINDOW)), {}),
        {
            "rps": taken(SOFTIRQ, from_stolen_ns=0, certainty="loosely bounded"),
            "deferral_off": taken(SOFTIRQ, from_synchronous_ns=ROUNDS * SOFTIRQ, from_stolen_ns=0),
            "irq_affinity": NOTHING,
            "larger_batches": NOTHING,
        },
    ),
    # For its softirq; the rest of the thread's time is no network's.
    "waiting": (
        *(waiting(), {}),
        {remedy: {"waited_gain_max_ns": 38_500} for remedy in REMEDIES[:3]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bounds_are_what_was_drawn(tmp_path: Path, case: str) -> None:
    cpus, header, expected = CASES[case]
    found = rows(asked(tmp_path, *cpus, **header))
    for remedy, wanted in expected.items():
        assert {name: found[remedy][name] for name in wanted} == wanted, remedy


# 14 us are more than a hundredth of the victim's time, and less than a tenth of what networking
# took from it.
@pytest.mark.parametrize(
    ("idle_ns", "told"), [(0, "no idle time"), (9_000, "9.00 µs of"), (14_000, "14.0 µs of")]
)
def test_a_busy_cpu_gives_nothing_back(tmp_path: Path, idle_ns: int, told: str) -> None:
    answer = asked(tmp_path, robbed(), other(idle_ns))
    found = rows(answer)
    for remedy in REMEDIES[:3]:
        assert (found[remedy]["finding"], found[remedy]["gain_max_ns"]) == ("no gain", idle_ns)
        # Others would pay for it, and the victim get it.
        assert found[remedy]["removable_ns"] >= ROUNDS * SOFTIRQ
    for fact in ("CPU 1", told, "1.16 ms", "from udpsink"):
        assert fact in found["rps"]["why"]
    assert "150 µs" in answer.words


def test_a_payers_name_is_text_in_every_form(tmp_path: Path) -> None:
    hostile = h.Task(600, "**<b>a</b>`")
    file = recording(robbed(), other(0, hostile), known=(OPENSSL, hostile))
    capture = netcost.open_capture(file.write(tmp_path / "perf.data"))
    answer = capture.ask.remedies.remedies(victim="openssl")
    assert answer.frame["why"].str.contains(hostile.comm, regex=False).any()
    assert hostile.comm in as_text(answer.words)
    assert "&lt;b&gt;a&lt;/b&gt;" in as_html(answer.words)
    assert "<b>" not in as_html(answer.words)
    # A question of one task.
    with pytest.raises(ArgumentError):
        capture.ask.remedies.remedies(victim=netcost.ALL)


# Other network namespaces than the first have a part of the settings only.
@pytest.mark.parametrize(
    ("release", "settings", "why"),
    [
        *((release, "", None) for release in ("5.19.0", "6.4.0-150600.21-default", None, "vendor")),
        ("5.14.21-150500.53-default", "", "kernel (5.14.21-150500.53-default) is older than 5.19"),
        ("4.18.0", "", "kernel (4.18.0) is older than 5.19"),
        ("6.18.0", "net.core.netdev_budget = 300\nnet.core.skb_defer_max = 64", None),
        ("6.18.0", "net.core.skb_defer_max = 0", "already off"),
        ("6.18.0", "net.core.netdev_budget = 300", "has no net.core.skb_defer_max"),
        ("6.18.0", "net.core.somaxconn = 4096", None),
    ],
)
def test_kernels_and_settings_that_defer_nothing(
    tmp_path: Path, release: str | None, settings: str, why: str | None
) -> None:
    files = {"before/settings/sysctl_net_core": settings} if settings else {}
    header = Header(os_release=release)
    made = bundle(tmp_path / "b", files, robbed(), other(WINDOW), header=header)
    row = rows(netcost.open_capture(made.path).ask.remedies.remedies(victim="openssl"))
    row = row["deferral_off"]
    assert row["finding"] == ("gain" if why is None else "not applicable")
    if why is None:
        assert row["why"] is None
    else:
        assert why in row["why"]
        unknown = ("rank", "certainty", "removable_ns", "gain_max_ns")
        assert {row[name] for name in unknown} == {None}


@pytest.mark.parametrize(
    ("events", "remedy"),
    [
        (("irq_handler_entry", "irq_handler_exit"), "irq_affinity"),
        (("napi_poll",), "larger_batches"),
        (("sched_switch",), None),
        (("softirq_entry",), None),
    ],
)
def test_what_was_not_recorded_is_unknown(
    tmp_path: Path, events: tuple[str, ...], remedy: str | None
) -> None:
    formats = tuple(one for one in FORMATS if one.name not in events)
    told = recording(robbed(), other(WINDOW), known=(OPENSSL, UDPSINK), formats=formats)
    answer = netcost.open_capture(told.write(tmp_path / "perf.data")).ask("remedies")
    if remedy is None:
        assert isinstance(answer.refusal, MissingEventsError)
        assert events[0] in str(answer.refusal)
        return
    found = rows(answer)
    assert (found[remedy]["finding"], found[remedy]["removable_ns"]) == ("unknown", None)
    assert events[0] in found[remedy]["why"]
    assert found["rps"]["removable_ns"] > 0
