# What a recording missed without a word, by the counters beside it.

from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.completeness.verdicts import CounterRow, judged
from support.asked import completeness
from support.counted_beside import BEFORE, beside, named, row
from support.device_bundles import bundle
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import NET_RX, OPENSSL, TIMER, UDPSINK


# NET_RX of a microsecond each, one every four, beginning with the one at 4 us; what happens from 0
# to 95 us is recorded.
def busy(number: int, count: int, *more: h.Happening, task: h.Task = OPENSSL) -> Cpu:
    happened: list[h.Happening] = [h.Waking(0, UDPSINK), *more, h.Waking(95_000, UDPSINK)]
    for at in range(4_000, 4_000 + 4_000 * count, 4_000):
        happened += [h.SoftirqEntry(at, NET_RX), h.SoftirqExit(at + 1_000, NET_RX)]
    return cpu(number, *sorted(happened, key=lambda one: one.at), task=task)


def known(folder: Path, files: dict[str, Any], *cpus: Cpu, **settings: Any) -> Any:
    return completeness(netcost.open_capture(bundle(folder, files, *cpus, **settings).path))


MANIFEST = {"netcost_bundle": 1, "trace": "trace.perf.data"}
# One while each file was read, and one before and one after: of the five that are recorded the
# counter has any three to five of them.
AROUND = [
    one
    for at in (500, 1_500, 90_500, 92_000)
    for one in (h.SoftirqEntry(at, TIMER), h.SoftirqExit(at + 100, TIMER))
]
INTERRUPTS = [
    h.IrqEntry(6_000, 32, "eth0"),
    h.IrqExit(6_100, 32),
    h.IrqEntry(6_200, 33, "shared"),
    h.IrqExit(6_300, 33),
    *(
        kind(at, vector)
        for start, vector in enumerate(("local_timer", "reschedule", "call_function_single"))
        for at, kind in (
            (6_400 + 200 * start, h.VectorEntry),
            (6_500 + 200 * start, h.VectorExit),
        )
    ),
]
LINES = {
    "32": "PCI-MSI 1-edge eth0",
    "33": "IO-APIC 5-fasteoi ehci_hcd, snd_hda",
    "LOC": "Local timer interrupts",
    "RES": "Rescheduling interrupts",
    "CAL": "Function call interrupts",
    "IWI": "IRQ work interrupts",
}
GROWN = {("32", 0): 4, ("33", 0): 9, ("LOC", 0): 2, ("RES", 0): 1, ("CAL", 0): 2, ("IWI", 0): 7}
SWITCHED = busy(0, 1, h.Switch(7_000, UDPSINK), h.Switch(9_000, OPENSSL))
BOTH = beside(2, switches=8, softirqs={("NET_RX", 0): 1, ("NET_RX", 1): 5})
Counts = dict[tuple[str, int | None], tuple[int, int, int]]
# The files, what is drawn, what is named as missing, and of each row what the counter grew by, and
# what was recorded while it may have grown and while it surely did.
CASES: dict[str, tuple[dict[str, Any], tuple[Cpu, ...], list[tuple[str, str, str]], Counts]] = {
    # Counters that stood still beside events that did not happen are no rows.
    "proved": (
        beside(2, softirqs={("NET_RX", 0): 10, ("NET_RX", 1): 20, ("RCU", 1): 1}),
        (busy(0, 10), busy(1, 8)),
        [("60", "NET_RX", "1"), ("100", "RCU", "1")],
        {("NET_RX", 0): (10, 10, 10), ("NET_RX", 1): (20, 8, 8), ("RCU", 1): (1, 0, 0)},
    ),
    "around the readings": (
        beside(1, softirqs={("NET_RX", 0): 3, ("TIMER", 0): 2}),
        (busy(0, 3, *AROUND),),
        [],
        {("NET_RX", 0): (3, 3, 3), ("TIMER", 0): (2, 2, 0)},
    ),
    # CAL counts call_function as well, which is not recorded here; 33 has two handlers.
    "handlers and vectors": (
        beside(1, interrupts=GROWN, names=LINES),
        (busy(0, 1, *INTERRUPTS),),
        [("75", "32", "0"), ("50", "LOC", "0")],
        {("32", 0): (4, 1, 1), ("LOC", 0): (2, 1, 1), ("RES", 0): (1, 1, 1)},
    ),
    "packets prove nothing": (
        beside(1, softirqs={("NET_RX", 0): 1}, packets={0: 50}),
        (busy(0, 1, h.NapiPoll(4_500, "eth0", work=5)),),
        [],
        {("NET_RX", 0): (1, 1, 1), ("packets", 0): (50, 5, 5)},
    ),
    # CPU 1 has no event: whether it was recorded only the manifest knows.
    "a CPU that was not recorded": (
        BOTH | {"manifest.json": MANIFEST | {"cpus": "0"}},
        (SWITCHED,),
        [],
        {("NET_RX", 0): (1, 1, 1)},
    ),
    "a CPU that may not have been": (BOTH, (SWITCHED,), [], {("NET_RX", 0): (1, 1, 1)}),
    "all CPUs, and their switches": (
        BOTH | {"manifest.json": MANIFEST | {"cpus": "all"}},
        (SWITCHED,),
        [("75", "switches", ""), ("100", "NET_RX", "1")],
        {("NET_RX", 0): (1, 1, 1), ("NET_RX", 1): (5, 0, 0), ("ctxt", None): (8, 2, 2)},
    ),
    "a counter that began anew": (
        beside(2, softirqs={("NET_RX", 0): -500, ("NET_RX", 1): 1}),
        (busy(0, 1), busy(1, 1)),
        [],
        {("NET_RX", 1): (1, 1, 1)},
    ),
}


@pytest.mark.parametrize(("files", "cpus", "missing", "counts"), CASES.values(), ids=CASES)
def test_counters_and_events(
    files: dict[str, Any],
    cpus: tuple[Cpu, ...],
    missing: list[tuple[str, str, str]],
    counts: Counts,
    tmp_path: Path,
) -> None:
    found = known(tmp_path, files, *cpus)
    assert named(found.why or "") == missing
    assert (found.state, found.lost_events) == ("incomplete" if missing else "complete", 0)
    rows = list(found.rows.itertuples())
    assert counts == {
        (one.counter, None if one.what == "switches" else one.cpu): (
            *(one.counted, one.recorded, one.recorded_inside),
        )
        for one in rows
    }
    for one in rows:
        assert one.missing_most == max(0, one.counted - one.recorded_inside)
        proves = one.what != "packets"
        assert one.missing_least == proves * max(0, one.counted - one.recorded)


def test_what_cannot_be_compared_is_unknown(tmp_path: Path) -> None:
    files = beside(1, softirqs={("NET_RX", 0): 5})
    one = busy(0, 1)
    bare = recording(one, known=(OPENSSL,)).write(tmp_path / "perf.data")
    assert completeness(netcost.open_capture(bare)).why.startswith("no counters")
    cases: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "with times": ({}, {}),
        "not CLOCK_MONOTONIC": (files, {"clock": None}),
        "no event": (files, {"formats": (t.SCHED_SWITCH, t.SCHED_WAKING)}),
        "recorded window": (
            beside(1, softirqs={("NET_RX", 0): 5}, read=(BEFORE, (90_000, 96_000))),
            {},
        ),
    }
    for place, (says, (some, settings)) in enumerate(cases.items()):
        found = known(tmp_path / str(place), some, one, **settings)
        assert found.state == "unknown", says
        assert says in found.why
        assert not len(found.rows)


HOSTILE = (
    {"softirqs": "CPU0 CPU0 CPU9999999999999999999\n NET_RX: 1 1 1\nNET_RX: 2 2 2\n"},
    {"softirqs": "CPU0\nNET_RX: 99999999999999999999999999\n: 1\nHI: ٣\n"},
    {"softirqs": "CPU-1 CPU4294967296\nNET_RX: 1 1\n", "stat": "ctxt\nctxt x\ncpu\n"},
    {"stat": "ctxt 1 2 3\nctxt 99999999999999999999999\n", "interrupts": "CPU0\nLOC: 1\n"},
    {"net_softnet_stat": "0 0 0 0 0 0 0 0 0 0 0 0 0\n" * 3, "interrupts": "\n\n32:\n"},
    {"stamp": "softirqs 5 9\nsoftirqs 9 5\nstat x y\ninterrupts 1\n"},
    {"stamp": f"softirqs 0 {(1 << 63) - 1}\n"},
)


def test_counters_of_a_stranger_are_compared_or_not(tmp_path: Path) -> None:
    for place, hostile in enumerate(HOSTILE):
        files = beside(1, softirqs={("NET_RX", 0): 1}, packets={0: 1}, switches=0)
        for name, text in hostile.items():
            files |= {f"{side}/{name}": text for side in ("before", "after")}
        found = known(tmp_path / str(place), files, busy(0, 1))
        assert found.state in ("complete", "unknown")


def test_losses_that_are_known_come_first(tmp_path: Path) -> None:
    files = beside(1, softirqs={("NET_RX", 0): 10})
    found = known(tmp_path, files, busy(0, 4, h.Lost(50_000, 5)))
    assert found.why.startswith("lost 5 events;")
    assert named(found.why) == [("60", "NET_RX", "0")]
    assert (found.state, found.lost_events) == ("incomplete", 5)
    # More losses than what is missing: they explain it.
    found = known(tmp_path / "many", files, busy(0, 4, h.Lost(50_000, 86_172)))
    assert (found.why, found.state) == ("lost 86,172 events", "incomplete")
    assert row(found, "NET_RX", 0)["missing_least"] == 6
    # They are known without any counters.
    found = known(tmp_path / "bare", {}, busy(0, 4, h.Lost(50_000, 1)))
    assert found.why.startswith("lost 1 event; no counters")
    assert found.state == "incomplete"


def verdict(*rows: CounterRow, some_lost: bool = False) -> str:
    return judged(list(rows), 0, some_lost).verdict.verdict


def test_three_are_named() -> None:
    words = verdict(*(CounterRow("softirq", "NET_RX", cpu, 1_000, cpu, cpu) for cpu in range(1, 6)))
    assert named(words) == [("99", "NET_RX", cpu) for cpu in "123"]
    assert words.endswith(" and 2 more")
    assert "unknown number" in verdict(some_lost=True)


# As capture/lib/missing.awk writes them: what is not quite everything is not written as everything.
@pytest.mark.parametrize(
    ("counted", "recorded", "share"),
    [
        (1_000, 1, "99"),
        (1_000, 0, "100"),
        (1_000, 901, "9.9"),
        (1_000, 900, "10"),
        (10_000, 9_990, "0.1"),
        (10_000, 9_991, "under 0.1"),
    ],
)
def test_shares_are_rounded_down(counted: int, recorded: int, share: str) -> None:
    assert f"{share} % of LOC" in verdict(CounterRow("vector", "LOC", 0, counted, recorded, 0))


RECORD = {
    "verdict": "misses 48 % of NET_RX on CPU 1",
    "state": "incomplete",
    "reason": None,
    "lost_events": None,
    "rows": [
        {
            "what": "softirq",
            "name": "NET_RX",
            "cpu": 1,
            "counted": 1128,
            "recorded": 592,
            "recorded_inside": 590,
            "missing_least": 536,
            "missing_most": 538,
        },
        {"what": "switches", "name": "ctxt", "cpu": None, "counted": 9, "recorded": 9,
         "recorded_inside": 7},
    ],
}  # fmt: skip


def test_what_the_recorder_wrote_is_taken(tmp_path: Path) -> None:
    found = known(tmp_path, {"manifest.json": MANIFEST | {"completeness": RECORD}}, busy(0, 1))
    assert (found.why, found.state) == (RECORD["verdict"], "incomplete")
    assert row(found, "NET_RX", 1)[["missing_least", "missing_most"]].tolist() == [536, 538]
    assert row(found, "ctxt")["missing_most"] == 2


def test_a_record_that_is_none_is_computed_anew(tmp_path: Path) -> None:
    first = RECORD["rows"][0]  # type: ignore[index]
    records = (
        None,
        # The host had no time to count: here there is.
        RECORD | {"state": "unknown", "verdict": "unknown: a trace of 900 MiB", "rows": []},
        [],
        {},
        RECORD | {"state": "fine"},
        RECORD | {"rows": None},
        *(RECORD | {"rows": [first | one]} for one in ({"counted": "many"}, {"cpu": -1})),
        RECORD | {"rows": [first | {"counted": 1 << 64}]},
    )
    for place, record in enumerate(records):
        files = beside(1, softirqs={("NET_RX", 0): 4})
        files["manifest.json"] = MANIFEST | {"completeness": record}
        found = known(tmp_path / str(place), files, busy(0, 2))
        assert named(found.why) == [("50", "NET_RX", "0")], record


def test_only_what_counters_count_is_read_and_in_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = beside(2, softirqs={("NET_RX", 0): 10, ("NET_RX", 1): 20})
    made = bundle(tmp_path, files, busy(0, 10), busy(1, 8))
    capture = netcost.open_capture(made.path)
    passes: list[list[str]] = []

    class Native:
        def __init__(self, native: Any) -> None:
            self.native = native

        def __getattr__(self, name: str) -> Any:
            assert name not in ("events", "all_events")
            return getattr(self.native, name)

        def counts(self, wanted: list[Any]) -> Any:
            passes.append([name for names, *_ in wanted for name in names])
            return self.native.counts(wanted)

    monkeypatch.setattr(capture, "native", Native(capture.native))
    assert completeness(capture).state == "incomplete"
    assert len(passes) == 1
    assert "irq:softirq_entry" in passes[0]
    assert not {"irq:softirq_exit", "sched:sched_waking", "sched:sched_switch"} & set(passes[0])
