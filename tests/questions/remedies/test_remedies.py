# Remedies on drawn timelines, whose bounds can be told by hand.

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.answers.answer import Answer
from netcost_analysis.capture.requires import MissingEventsError
from netcost_analysis.display.templates import as_html, as_text
from netcost_analysis.errors import ArgumentError
from support.asked import remedies
from support.device_bundles import bundle
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.perfdata.features import Header
from support.perfdata.tracepoints import FORMATS
from support.robbed import robbed
from support.told import KSOFTIRQD, NET_RX, OPENSSL, UDPSINK

# Of robbed(): 12 rounds, from the first event to the last.
ROUNDS, ROUND, LAST = 12, 100_000, 1_000 + 11 * 100_000 + 60_000
WINDOW = LAST - 1_000
# A handler; a NET_RX with its two polls.
IRQ, SOFTIRQ, VECTOR = 2_000, 12_500, 1_500
# A NET_RX that only sends packets to another CPU.
DISPATCH = 2_000


def asked(path: Path, *cpus: Cpu, **header: Any) -> Answer:
    known = (OPENSSL, UDPSINK, KSOFTIRQD)
    file = recording(*cpus, known=known, header=Header(**header)).write(path / "perf.data")
    capture = netcost.open_capture(file)
    return capture.ask.remedies.remedies(victim="openssl")


def rows(path: Path, *cpus: Cpu, **header: Any) -> "dict[str, pd.Series[Any]]":
    frame = asked(path, *cpus, **header).frame
    assert set(frame["remedy"]) == {"rps", "irq_affinity", "deferral_off", "larger_batches"}
    return {row["remedy"]: row for _, row in frame.iterrows()}


# CPU 1, from the first event of CPU 0 to its last: busy first, idle for so long at the end.
def other(idle_ns: int) -> Cpu:
    idle = h.idle(1)
    switch = h.Switch(LAST - idle_ns, idle, 1)
    end = h.Waking(LAST, KSOFTIRQD, 1)
    begin = h.Waking(1_000, KSOFTIRQD, 1)
    if idle_ns == WINDOW:
        return cpu(1, begin, end)
    told = (begin, switch, end) if idle_ns else (begin, end)
    return cpu(1, *told, task=UDPSINK)


def test_an_idle_cpu_takes_all_over(tmp_path: Path) -> None:
    found = rows(tmp_path, robbed(), other(WINDOW))
    moved = {"rps": SOFTIRQ, "irq_affinity": IRQ + SOFTIRQ, "deferral_off": SOFTIRQ}
    for remedy, each in moved.items():
        row = found[remedy]
        assert row["removable_ns"] == row["from_stolen_ns"] == row["gain_max_ns"] == ROUNDS * each
        assert row["removable_share"] == pytest.approx(ROUNDS * each / WINDOW)
        assert (row["finding"], row["from_synchronous_ns"]) == ("gain", 0)
        assert (row["idle_ns"], row["idle_max_ns"]) == (WINDOW, WINDOW)
    assert [found[one]["target_cpu"] for one in ("rps", "irq_affinity")] == [1, 1]
    assert [found[one]["payer"] for one in moved] == ["idle CPU", "idle CPU", "receivers"]
    # A driver's work cannot be told from the stack's, nor a free from the poll that it precedes.
    assert [found[one]["certainty"] for one in moved] == [
        *("loosely bounded", "bounded", "loosely bounded")
    ]
    assert [found[one]["rank"] for one in ("irq_affinity", "rps", "deferral_off")] == [1, 2, 3]


def test_a_cpu_that_is_idle_at_times_takes_over_that_much(tmp_path: Path) -> None:
    row = rows(tmp_path, robbed(), other(50_000))["rps"]
    assert (row["gain_max_ns"], row["removable_ns"]) == (50_000, ROUNDS * SOFTIRQ)
    assert (row["finding"], row["payer"], row["payer_comm"]) == ("gain", "tasks", "udpsink")


# The most idle takes over, of those that it does not leave; what the victim lost there stays.
def test_the_most_idle_takes_over(tmp_path: Path) -> None:
    third = cpu(2, h.Waking(1_000, KSOFTIRQD, 2), h.Waking(LAST, KSOFTIRQD, 2))
    found = rows(tmp_path, robbed(), other(50_000), third, nr_cpus=3)
    assert found["rps"][["target_cpu", "gain_max_ns"]].tolist() == [2, ROUNDS * SOFTIRQ]
    # Who receives may be on either.
    assert found["deferral_off"]["idle_ns"] == WINDOW + 50_000


def test_what_is_lost_where_it_would_go_stays(tmp_path: Path) -> None:
    twin = robbed(1, h.Task(501, "openssl"), rounds=2)
    leaves = (h.Switch(170_000, h.idle(1), 1), h.Waking(LAST, KSOFTIRQD, 1))
    found = rows(tmp_path, robbed(), cpu(1, *twin.happenings, *leaves, task=twin.task))
    row = found["rps"]
    assert row[["target_cpu", "idle_ns"]].tolist() == [1, LAST - 170_000]
    assert row["removable_ns"] == (ROUNDS + 2) * SOFTIRQ
    assert row["gain_max_ns"] == ROUNDS * SOFTIRQ


# On two CPUs of which the other has no time to spare: no gain, with the figure, in words. 14 us are
# more than a hundredth of the victim's time, and less than a tenth of what networking took from it.
@pytest.mark.parametrize(
    ("idle_ns", "told"), [(0, "no idle time"), (9_000, "9.00 µs of"), (14_000, "14.0 µs of")]
)
def test_a_busy_cpu_gives_nothing_back(tmp_path: Path, idle_ns: int, told: str) -> None:
    answer = asked(tmp_path, robbed(), other(idle_ns))
    frame = answer.frame.set_index("remedy").loc[["rps", "irq_affinity", "deferral_off"]]
    assert (frame["finding"] == "no gain").all()
    assert (frame["gain_max_ns"] == idle_ns).all()
    # Others would pay for it, and the victim get it.
    assert (frame["removable_ns"] >= ROUNDS * SOFTIRQ).all()
    for fact in ("CPU 1", told, "1.16 ms", "from udpsink"):
        assert fact in frame.loc["rps", "why"]
    assert "150 µs" in answer.words


def test_a_payers_name_is_text_in_every_form(tmp_path: Path) -> None:
    hostile = h.Task(600, "**<b>a</b>`")
    busy = cpu(1, h.Waking(1_000, KSOFTIRQD, 1), h.Waking(LAST, KSOFTIRQD, 1), task=hostile)
    file = recording(robbed(), busy, known=(OPENSSL, hostile)).write(tmp_path / "perf.data")
    answer = netcost.open_capture(file).ask.remedies.remedies(victim="openssl")
    assert answer.frame["why"].str.contains(hostile.comm, regex=False).any()
    assert hostile.comm in as_text(answer.words)
    assert "&lt;b&gt;a&lt;/b&gt;" in as_html(answer.words)
    assert "<b>" not in as_html(answer.words)


def test_one_cpu_has_none_to_move_to(tmp_path: Path) -> None:
    found = rows(tmp_path, robbed(), nr_cpus=1)
    for remedy in ("rps", "irq_affinity", "deferral_off"):
        row = found[remedy]
        assert (row["finding"], row["gain_max_ns"], row["removable_ns"]) == ("no gain", 0, 0)
        assert "one CPU" in row["why"]


def test_cpus_that_were_not_recorded_are_unknown(tmp_path: Path) -> None:
    found = rows(tmp_path, robbed(), nr_cpus=2)
    row = found["rps"]
    assert (row["finding"], row["removable_ns"]) == ("unknown", ROUNDS * SOFTIRQ)
    assert row[["gain_max_ns", "gain_max_share", "rank", "target_cpu"]].isna().all()
    assert "no other CPU" in row["why"]
    # Receivers may be on a third.
    third = rows(tmp_path, robbed(), other(WINDOW), nr_cpus=3)
    assert (third["rps"]["finding"], third["deferral_off"]["finding"]) == ("gain", "unknown")


def test_kernels_that_defer_nothing(tmp_path: Path) -> None:
    for release in ("5.19.0", "6.4.0-150600.21-default", None, "vendor"):
        row = rows(tmp_path, robbed(), other(WINDOW), os_release=release)["deferral_off"]
        assert row["finding"] == "gain"
    for release in ("5.14.21-150500.53-default", "4.18.0"):
        row = rows(tmp_path, robbed(), other(WINDOW), os_release=release)["deferral_off"]
        assert row["finding"] == "not applicable"
        assert row[["rank", "certainty", "removable_ns", "gain_max_ns"]].isna().all()
        assert f"kernel ({release})" in row["why"]
        assert "than 5.19" in row["why"]


# What another CPU steers here: an interrupt of that CPU, which no device's affinity moves.
def steered(number: int = 0) -> Cpu:
    told: list[h.Happening] = []
    for start in range(1_000, 1_000 + ROUNDS * ROUND, ROUND):
        told += [
            h.VectorEntry(start, "call_function_single"),
            h.SoftirqRaise(start + 1_000, NET_RX),
            h.VectorExit(start + VECTOR, "call_function_single"),
            h.SoftirqEntry(start + 2_500, NET_RX),
            h.NapiPoll(start + 14_500, "(no_device)", 8),
            h.SoftirqExit(start + 15_000, NET_RX),
            h.Waking(start + 60_000, UDPSINK),
        ]
    return cpu(number, *told, task=OPENSSL)


def test_what_was_steered_here_moves_with_its_interrupt(tmp_path: Path) -> None:
    found = rows(tmp_path, steered(), other(WINDOW))
    assert found["rps"]["removable_ns"] == ROUNDS * (SOFTIRQ + VECTOR)
    assert found["rps"]["certainty"] == "bounded"
    affinity = found["irq_affinity"]
    assert (affinity["finding"], affinity["removable_ns"]) == ("no gain", 0)
    assert "no interrupt of" in affinity["why"]


# A NET_RX that polls nothing steers, and goes on doing so; or it was asked to free buffers.
def test_a_dispatch_stays_where_it_is_and_may_be_frees(tmp_path: Path) -> None:
    told: list[h.Happening] = []
    for one in robbed().happenings:
        if not isinstance(one, h.SoftirqExit):
            told.append(one)
            continue
        told += [h.SoftirqRaise(one.at - 100, NET_RX), one, h.SoftirqEntry(one.at + 100, NET_RX)]
        told.append(h.SoftirqExit(one.at + 100 + DISPATCH, NET_RX))
    found = rows(tmp_path, cpu(0, *told, task=OPENSSL), other(WINDOW))
    assert found["rps"]["removable_ns"] == ROUNDS * SOFTIRQ
    assert found["deferral_off"]["removable_ns"] == ROUNDS * (SOFTIRQ + DISPATCH)


# Both on one CPU: affinity takes the device's part, steering all but the handlers.
def test_a_device_and_another_cpu_are_told_apart(tmp_path: Path) -> None:
    begin = 1_000 + ROUNDS * ROUND
    later = [
        type(one)(*(one.at + ROUNDS * ROUND, *list(vars(one).values())[1:]))
        for one in steered().happenings
    ]
    both = cpu(0, *robbed().happenings, *later, task=OPENSSL)
    idle = cpu(1, h.Waking(1_000, KSOFTIRQD, 1), h.Waking(begin + WINDOW, KSOFTIRQD, 1))
    found = rows(tmp_path, both, idle)
    assert found["irq_affinity"]["removable_ns"] == ROUNDS * (IRQ + SOFTIRQ)
    assert found["rps"]["removable_ns"] == ROUNDS * (2 * SOFTIRQ + VECTOR)


# Local traffic: the sender receives for the receiver, in a softirq that it raised itself.
def test_receiving_its_own_sends_is_not_stolen_and_can_be_steered(tmp_path: Path) -> None:
    told: list[h.Happening] = []
    for start in range(1_000, 1_000 + ROUNDS * ROUND, ROUND):
        told += [
            h.BhDisable(start),
            h.SoftirqRaise(start + 500, NET_RX),
            h.BhEnable(start + 1_000),
            h.SoftirqEntry(start + 2_500, NET_RX),
            h.NapiPoll(start + 14_500, "(no_device)", 1),
            h.SoftirqExit(start + 15_000, NET_RX),
            h.Waking(start + 60_000, UDPSINK),
        ]
    answer = asked(tmp_path, cpu(0, *told, task=OPENSSL), other(WINDOW))
    found = answer.frame.set_index("remedy")
    for remedy in ("rps", "deferral_off"):
        assert found.loc[remedy, "from_synchronous_ns"] == ROUNDS * SOFTIRQ
        assert found.loc[remedy, "from_stolen_ns"] == 0
        assert found.loc[remedy, "certainty"] == "loosely bounded"
    assert (found.loc[["irq_affinity", "larger_batches"], "removable_ns"] == 0).all()
    assert "openssl itself sent" in answer.words


# It waits while ksoftirqd does network work: that is off CPU, and beside the bound.
def test_what_it_waited_for_network_threads_comes_back_besides(tmp_path: Path) -> None:
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
    found = rows(tmp_path, cpu(0, *told, task=OPENSSL), idle)
    for remedy in ("rps", "irq_affinity", "deferral_off"):
        # For its softirq; the rest of the thread's time is no network's.
        assert found[remedy]["waited_gain_max_ns"] == 38_500
    assert found["rps"]["removable_ns"] == ROUNDS * SOFTIRQ


def test_few_polls_leave_larger_batches_unknown(tmp_path: Path) -> None:
    row = rows(tmp_path, robbed(), other(WINDOW))["larger_batches"]
    assert (row["finding"], row["certainty"]) == ("unknown", "unknown")
    assert row[["rank", "removable_ns", "gain_max_ns", "gain_max_share"]].isna().all()
    for fact in ("12 polls", "needs 200"):
        assert fact in row["why"]


def test_it_is_of_one_task(tmp_path: Path) -> None:
    file = recording(robbed(), other(0), known=(OPENSSL, UDPSINK)).write(tmp_path / "perf.data")
    with pytest.raises(ArgumentError):
        netcost.open_capture(file).ask.remedies.remedies(victim=netcost.ALL)


def timeline_without(events: tuple[str, ...], path: Path) -> netcost.Timeline:
    formats = tuple(one for one in FORMATS if one.name not in events)
    told = recording(robbed(), other(WINDOW), known=(OPENSSL, UDPSINK), formats=formats)
    return netcost.open_capture(told.write(path / "perf.data")).timeline()


# What cannot be known is unknown, not nothing.
def test_what_was_not_recorded(tmp_path: Path) -> None:
    for events, remedy in (
        (("irq_handler_entry", "irq_handler_exit"), "irq_affinity"),
        (("napi_poll",), "larger_batches"),
    ):
        frame = remedies(timeline_without(events, tmp_path), "openssl").set_index("remedy")
        assert frame.loc[remedy, "finding"] == "unknown"
        assert pd.isna(frame.loc[remedy, "removable_ns"])
        assert events[0] in frame.loc[remedy, "why"]
        assert frame.loc["rps", "removable_ns"] > 0
    for event in ("sched_switch", "softirq_entry"):
        with pytest.raises(MissingEventsError, match=event):
            remedies(timeline_without((event,), tmp_path), "openssl")


# Other network namespaces than the first have a part of the settings only.
def test_settings_tell_whether_frees_are_deferred(tmp_path: Path) -> None:
    for at, (settings, finding, why) in enumerate(
        (
            ("net.core.netdev_budget = 300\nnet.core.skb_defer_max = 64", "gain", None),
            ("net.core.skb_defer_max = 0", "not applicable", "is off"),
            ("net.core.netdev_budget = 300", "not applicable", "have no net.core.skb_defer_max"),
            ("net.core.somaxconn = 4096", "gain", None),
        )
    ):
        files = {"before/settings/sysctl_net_core": settings}
        made = bundle(tmp_path / str(at), files, robbed(), other(WINDOW))
        found = remedies(netcost.open_capture(made.path).timeline(), "openssl")
        row = found.set_index("remedy").loc["deferral_off"]
        assert row["finding"] == finding
        assert pd.isna(row["why"]) if why is None else why in row["why"]
