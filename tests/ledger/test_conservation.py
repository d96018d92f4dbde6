# Conservation for any sequence of records, also those that no kernel would write: entries without
# exits, flags that contradict the stack, time running backwards, losses and repeats anywhere.

import itertools
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis._native import CaptureError
from support.host import Fresh, examples
from support.narrator import recordings
from support.native_tables import Answer, assert_conserved, by
from support.perfdata import (
    Attr,
    Common,
    Cpu,
    FinishedRound,
    Fork,
    Record,
    Recording,
    Sample,
    Throttle,
    Where,
    write_file,
    write_pipe,
)
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.perfdata.formats import Format
from support.perfdata.machine import X86_64
from support.perfdata.records import Comm, Lost, LostSamples
from support.reference_ledger import Ledger, PaintedCpu

CPUS = 3
FORMATS = t.FORMATS
ATTRS = [
    Attr(one.event, one.id, tuple(100 + CPUS * place + cpu for cpu in range(CPUS)))
    for place, one in enumerate(FORMATS)
]
TIDS = st.sampled_from([0, 0, 20, 30, 500, 600, -1])
COMMS = st.sampled_from(
    ["swapper/0", "openssl", "ksoftirqd/0", "napi/eth0-1", "irq/32-virtio2-", ""]
)
STEPS = st.sampled_from([0, 0, 0, 1, 1, 3, 10, 100, -1, -50, 10_000])


def value(name: str) -> st.SearchStrategy[Any]:
    match name:
        case "vec":
            return st.sampled_from([1, 3, 3, 3, 9, 77])
        case "irq" | "vector":
            return st.sampled_from([32, 33, 236])
        case "comm" | "prev_comm" | "next_comm" | "parent_comm" | "child_comm" | "name":
            return COMMS
        case "dev_name" | "filename":
            return st.sampled_from(["eth0", "(no_device)", ""])
        case "pid" | "prev_pid" | "next_pid" | "parent_pid" | "child_pid":
            return TIDS
        case "target_cpu" | "orig_cpu" | "dest_cpu":
            return st.integers(-1, CPUS)
        case _:
            return st.integers(0, 64)


@st.composite
def samples(draw: st.DrawFn, clocks: list[int]) -> Record:
    cpu = draw(st.integers(0, CPUS - 1))
    clocks[cpu] = max(0, clocks[cpu] + draw(STEPS))
    place = draw(st.integers(0, len(FORMATS) - 1))
    format_: Format = FORMATS[place]
    fields = {one.name: draw(value(one.name)) for one in format_.fields}
    flags = draw(st.sampled_from([0, 0x01, 0x09, 0x10, 0x10, 0x11, 0x19, 0x80, 0x81, 0x40, 0xFF]))
    tid = draw(TIDS)
    common = Common(flags, draw(st.integers(0, 5)), tid)
    return Sample(Where(cpu, clocks[cpu], tid, tid, place), format_.pack(fields, common, X86_64))


@st.composite
def rings(draw: st.DrawFn) -> list[Record]:
    clocks = [10_000] * CPUS
    records: list[Record] = []
    for kind in draw(st.binary(max_size=80)):
        cpu = kind % CPUS
        where = Where(cpu, clocks[cpu])
        match kind % 16:
            case 0:
                records.append(Lost(0, draw(st.integers(0, 9)), where))
            case 1:
                records.append(FinishedRound())
            case 2 if records:
                records.extend(records[-draw(st.integers(1, 3)) :])
            case 3:
                records.append(LostSamples(draw(st.integers(0, 9)), where))
            case 4:
                records.append(Comm(500, draw(TIDS), draw(COMMS), where))
            case 5:
                records.append(Fork(1, 1, 700, 500, clocks[cpu], where, exits=bool(kind & 16)))
            case 6:
                records.append(Throttle(where, bool(kind & 16)))
            case _:
                records.append(draw(samples(clocks)))
    return records


@examples(50)
@given(rings(), st.booleans(), st.lists(st.integers(0, 12_000), max_size=2))
def test_any_sequence_conserves(
    fresh: Fresh, records: list[Record], pipe: bool, cuts: list[int]
) -> None:
    path = fresh() / "perf.data"
    path.write_bytes(
        (write_pipe if pipe else write_file)(ATTRS, FORMATS, [*records, FinishedRound()])
    )
    try:
        whole = Answer(path)
    except CaptureError as error:
        # No event that the ledger could use is the only thing that is wrong with such a file; a
        # vector 77 makes an event unreadable.
        if "no readable sample" in str(error):
            return
        useful = [place for place, one in enumerate(FORMATS) if "process" not in one.name]
        assert not any(isinstance(one, Sample) and one.where.event in useful for one in records)
        return
    assert_conserved(whole)
    start, end = whole.window
    edges = sorted({start, end, *(cut for cut in cuts if start < cut < end)})
    parts = [Answer(path, start_ns=a, end_ns=b) for a, b in itertools.pairwise(edges)]
    for part in parts:
        assert_conserved(part)
    if parts:
        key = ("cpu", "tid", "context", "id", "napi", "cost_class")
        summed = sum(
            (by(part.sums, key, lambda row: row["ns"]) for part in parts[1:]),
            start=by(parts[0].sums, key, lambda row: row["ns"]),
        )
        assert summed == by(whole.sums, key, lambda row: row["ns"])


# Take well-formed timelines, hide events as real recordings do (switched on and off one tracepoint
# at a time, or lost in a full ring), and compare with the truth: what the ledger claims was so. It
# may say less, never more.


SILENT = (h.BhDisable, h.BhEnable, h.Flush)


# Who was current, and every interrupt, vector and softirq that was open, at each nanosecond.
@dataclass(frozen=True)
class Moment:
    tid: int
    opened: frozenset[tuple[str, int | None]]


class Truth(PaintedCpu):
    def __init__(self, ledger: Ledger, cpu: Cpu) -> None:
        super().__init__(ledger, cpu)
        self.moments: dict[int, Moment] = {}

    def paint(self, until: int) -> None:
        opened = {(owner.context, owner.id) for owner in self.hardirqs}
        opened |= {("softirq", one.vec) for one in self.softirqs}
        moment = Moment(self.task.tid, frozenset(opened))
        for now in range(self.painted, until):
            self.moments[now] = moment
        super().paint(until)

    # Polls are softirqs here.
    def repaint(self, start: int, what: h.NapiPoll, mine: object) -> int:
        return 0


def truth(told: Recording, start: int, end: int) -> dict[int, dict[int, Moment]]:
    ledger = Ledger(start, end)
    result = {}
    for cpu in told.cpus:
        ledger.cells[cpu.number] = [None] * (end - start)  # type: ignore[list-item]
        one = Truth(ledger, cpu)
        for what in cpu.happenings:
            one.happen(what)
        one.paint(end)
        result[cpu.number] = one.moments
    return result


def hide(what: h.Happening) -> h.Happening:
    return what if isinstance(what, SILENT) else h.unrecorded(what)


# perf enables one tracepoint after the other, on one CPU after the other, and disables them in that
# order too. A missing sched_switch is another story: then nobody knows who ran.
def switched_on_one_by_one(told: Recording, delays: list[int]) -> Recording:
    kinds = (h.IrqEntry, h.IrqExit, h.VectorEntry, h.VectorExit, h.SoftirqRaise)
    kinds += (h.SoftirqEntry, h.SoftirqExit, h.NapiPoll)
    begins = {
        (cpu.number, kind): cpu.happenings[0].at + delays[(place + 3 * cpu.number) % len(delays)]
        for cpu in told.cpus
        for place, kind in enumerate(kinds)
    }

    def degraded(cpu: Cpu) -> Cpu:
        kept = (
            hide(what) if what.at < begins.get((cpu.number, type(what)), 0) else what
            for what in cpu.happenings
        )
        return replace(cpu, happenings=tuple(kept))

    return replace(told, cpus=tuple(degraded(cpu) for cpu in told.cpus))


# A full ring: everything of one CPU between two of its events is gone, and a LOST record stands
# before the next.
def with_a_loss(told: Recording, number: int, first: float, length: int) -> Recording:
    cpu = told.cpus[number % len(told.cpus)]
    events = [place for place, what in enumerate(cpu.happenings) if not isinstance(what, SILENT)]
    begin = 1 + int(first * max(0, len(events) - 2))
    gone = set(events[begin : begin + length][:-1])
    if not gone or begin + length >= len(events):
        return told
    after = cpu.happenings[events[begin + length - 1]].at
    kept: list[h.Happening] = []
    for place, what in enumerate(cpu.happenings):
        if place == events[begin + length - 1]:
            kept.append(h.Lost(after, len(gone)))
        kept.append(hide(what) if place in gone else what)
    cpus = [replace(one, happenings=tuple(kept)) if one is cpu else one for one in told.cpus]
    return replace(told, cpus=tuple(cpus))


def assert_nothing_invented(told: Recording, degraded: Recording, got: Answer) -> None:
    assert_conserved(got)
    was = truth(told, *got.window)
    vectors = {number: ("vector", number) for number in t.VECTORS.values()}
    for row in got.segments:
        claim = (row["context"], row["id"])
        for now in range(row["start_ns"], row["end_ns"]):
            moment = was[row["cpu"]][now]
            if row["context"] == "unknown":
                continue
            assert row["tid"] == moment.tid, (now, row, moment)
            if row["context"] == "vector":
                assert vectors[row["id"]] in moment.opened, (now, row, moment)
            elif row["context"] in ("hardirq", "softirq"):
                assert claim in moment.opened, (now, row, moment)
            elif row["context"] == "poll" and not row["comm"].startswith("napi/"):
                assert ("softirq", 3) in moment.opened, (now, row, moment)


@examples(50)
@given(recordings(), st.lists(st.integers(0, 400), min_size=8, max_size=8))
def test_nothing_is_invented_while_events_are_switched_on(
    fresh: Fresh, told: Recording, delays: list[int]
) -> None:
    degraded = switched_on_one_by_one(told, delays)
    path = degraded.write(fresh() / "perf.data")
    if not degraded.events():
        return
    assert_nothing_invented(told, degraded, Answer(path))


@examples(50)
@given(
    recordings() | recordings(realtime=True), st.integers(0, 2), st.floats(0, 1), st.integers(2, 40)
)
def test_nothing_is_invented_across_a_loss(
    fresh: Fresh,
    told: Recording,
    number: int,
    first: float,
    length: int,
) -> None:
    degraded = with_a_loss(told, number, first, length)
    path = degraded.write(fresh() / "perf.data")
    assert_nothing_invented(told, degraded, Answer(path))
