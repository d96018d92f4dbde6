# What a line is, by its name, by whom its handler wakes, and by what it raises: where several are
# known they agree, and where some are taken away the answer is the same, or unknown.

from itertools import combinations
from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.interrupt_devices import bundle_lines
from netcost_analysis.questions.devices.device_lines import evidence, raised_by
from support.drawn import ledger_of, rounds
from support.host import SAMPLES
from support.native_tables import Answer
from support.perfdata import happenings as h
from support.perfdata.tracepoints import FORMATS
from support.shared import CASES, Case
from support.told import OPENSSL, UDPSINK

BUNDLES = sorted(SAMPLES.glob("nic-guest*/*.zst"))
RAISES = ("irq:softirq_raise",)
WAKINGS = ("sched:sched_waking", "sched:sched_wakeup", "sched:sched_wakeup_new")
WITNESSES = (RAISES, WAKINGS, ("napi:napi_poll",), ("sched:sched_switch",))
SUBSETS = [
    tuple(name for some in chosen for name in some)
    for size in range(1, len(WITNESSES) + 1)
    for chosen in combinations(WITNESSES, size)
]
Lines = dict[int, tuple[str | None, str]]


def lines(got: Answer) -> Lines:
    return {row["irq"]: (row["device"], row["is_network"]) for row in got.irqs}


# `fewer` may say less than `whole`, and nothing else.
def assert_not_contradicted(whole: Lines, fewer: Lines) -> None:
    assert set(fewer) == set(whole)
    for irq, (device, network) in fewer.items():
        assert device in (None, whole[irq][0]), (irq, device, whole[irq])
        assert network in ("unknown", whole[irq][1]), (irq, network, whole[irq])


# By turns: irq 32 raises NET_RX that polls eth0; 33 wakes the thread that polls eth1; 34 is a disk.
# Their names say as much: a thread's is of its device.
THREAD = "napi/eth1-8194=30"
KNOWN = (OPENSSL, UDPSINK, h.Task(30, "napi/eth1-8194"))
DRAWN = rounds(
    "0 irq 32 eth0-TxRx-0, 2 raise NET_RX, 4 end irq 32, 4 NET_RX, 50 poll eth0 3 64 0x10, "
    f"50 end NET_RX, 100 irq 33 eth1-TxRx-0, 102 waking {THREAD}, 104 end irq 33, "
    f"110 switch {THREAD}, 150 poll eth1 3 64 0x20, 160 switch openssl asleep, "
    "200 irq 34 nvme0q1, 202 waking udpsink, 204 end irq 34, 210 switch udpsink, "
    "220 switch openssl asleep",
    8,
)
WHOLE = {32: ("eth0", "yes"), 33: ("eth1", "yes"), 34: (None, "no")}


@pytest.mark.parametrize("missing", SUBSETS, ids="-".join)
def test_with_fewer_witnesses_a_line_is_the_same_or_unknown(
    tmp_path: Path, missing: tuple[str, ...]
) -> None:
    formats = tuple(one for one in FORMATS if one.event not in missing)
    got = lines(ledger_of(tmp_path, DRAWN, known=KNOWN, formats=formats))
    assert_not_contradicted(WHOLE, got)


def test_with_all_witnesses_lines_are_known(tmp_path: Path) -> None:
    got = ledger_of(tmp_path, DRAWN, known=KNOWN)
    assert lines(got) == WHOLE
    assert [row["known_by"] for row in got.irqs] == ["polls", "wake-ups", None]


# The event under a name that nobody asks for: as if it had not been recorded.
def hidden(path: Path, folder: Path, *events: str) -> Path:
    data = path.read_bytes()
    for event in events:
        name = b"name: %s\n" % event.split(":")[1].encode()
        data = data.replace(name, name.replace(b"_", b"x", 1))
    blind = folder / "blind.data"
    blind.write_bytes(data)
    return blind


def assert_hiding_contradicts_nothing(path: Path, folder: Path) -> None:
    whole = lines(Answer(path, []))
    assert "yes" in {network for _, network in whole.values()}
    for missing in SUBSETS:
        assert_not_contradicted(whole, lines(Answer(hidden(path, folder, *missing), [])))


def test_hiding_a_samples_events_contradicts_nothing(tmp_path: Path) -> None:
    assert_hiding_contradicts_nothing(SAMPLES / "nic-stolen-time" / "trace.perf.data", tmp_path)


@pytest.mark.parametrize("names", CASES, ids="-".join)
def test_hiding_a_guests_events_contradicts_nothing(
    tmp_path: Path, unpacked: Path, names: tuple[str, str]
) -> None:
    assert_hiding_contradicts_nothing(Case(unpacked, *names).path, tmp_path)


# By name (what /proc/interrupts and ip say), and by what the NET_RX polled that it raised first.
@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.name)
def test_a_samples_lines_are_the_same_by_name_and_by_raise(path: Path) -> None:
    timeline = netcost.open_capture(path).timeline()
    assert timeline.capture.bundle is not None
    by_name = bundle_lines(timeline.capture.bundle)
    led = evidence(raised_by(timeline)[0], {})
    most = led[(led["polled"] * 2 > led["raised"]) & (led["device"] != "(no_device)")]
    by_raise = dict(zip(most["irq"], most["device"], strict=True))
    both = set(by_name) & set(by_raise)
    assert both
    assert {irq: by_name[irq] for irq in both} == {irq: by_raise[irq] for irq in both}
    for row in timeline.irqs.itertuples(index=False):
        assert (row.irq in by_name) == (row.is_network == "yes"), row
        if row.irq in by_name:
            assert row.device == by_name[row.irq]
