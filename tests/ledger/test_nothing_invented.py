# Take well-formed timelines, hide events as real recordings do (switched on and off one tracepoint
# at a time, or lost in a full ring), and compare with the truth: what the ledger claims was so. It
# may say less, never more.

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from support.host import Fresh, examples
from support.narrator import recordings
from support.native_tables import Answer, assert_conserved
from support.perfdata import Cpu, Recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.reference_ledger import Ledger, PaintedCpu

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
