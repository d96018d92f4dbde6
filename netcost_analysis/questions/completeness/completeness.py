"""The recording's events against the counters beside it."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from msgspec.structs import astuple

from ...answers.question import question
from . import counted
from .counted import Counted
from .known import Completeness, Row, Verdict, judged, unknown, with_rows
from .recorded import Seen, Wanted, see_ahead, seen

if TYPE_CHECKING:
    from ...answers.answer import Answer
    from ...capture.bundle import Bundle
    from ...capture.capture import Capture
    from ...capture.manifest import Verdict as Recorded

# Clocks whose times are those of the counters' readings.
# What netcost-record notes where /proc/timer_list says nothing, as in many containers.
_OTHER_READINGS = "victim and snapshot times are CLOCK_BOOTTIME"
_READINGS_CLOCK = ("monotonic", "mono")
# include/linux/interrupt.h, by the names of /proc/softirqs; BLOCK_IOPOLL became IRQ_POLL in 4.5.
_SOFTIRQS = {
    "HI": 0,
    "TIMER": 1,
    "NET_TX": 2,
    "NET_RX": 3,
    "BLOCK": 4,
    "BLOCK_IOPOLL": 5,
    "IRQ_POLL": 5,
    "TASKLET": 6,
    "SCHED": 7,
    "HRTIMER": 8,
    "RCU": 9,
}
# Lines of /proc/interrupts, and the events of which each count is one.
VECTORS: dict[str, tuple[str, ...]] = {
    "LOC": ("irq_vectors:local_timer_entry",),
    "RES": ("irq_vectors:reschedule_entry",),
    "CAL": ("irq_vectors:call_function_entry", "irq_vectors:call_function_single_entry"),
}
# Of a line of a stranger's manifest.
_LONGEST = 400
_SOFTIRQ, _HANDLER = "irq:softirq_entry", "irq:irq_handler_entry"
_POLL, _SWITCH = "napi:napi_poll", "sched:sched_switch"
# By capture, all of it and interrupts alone: several figures of one page ask.
_known: "WeakKeyDictionary[Capture, Completeness]" = WeakKeyDictionary()
_interrupts_known: "WeakKeyDictionary[Capture, Completeness]" = WeakKeyDictionary()


@question(
    columns=("what", "counter", "cpu", "missing_least", "missing_most", "counted", "recorded")
)
def completeness(capture: "Capture") -> Completeness:
    """Whether a recording has what its host counted meanwhile: softirqs, interrupts, switches.

    - capture: All of it; windows have no counters of their own.

    What netcost-record found and wrote down, or, of a bundle without that, the same computed from
    before/ and after/. State "unknown", with its reason, where there are no counters or they cannot
    be compared.

    A counter was read between b0 and b1 before, and between a0 and a1 after; counted is its growth,
    recorded the events in [b0, a1], recorded_inside those in [b1, a0]. missing_least = counted -
    recorded is proved (0 for packets, which prove nothing), missing_most = counted -
    recorded_inside. Source: irq:softirq_entry against softirqs, irq:irq_handler_entry (lines of one
    handler) and irq_vectors against interrupts, napi:napi_poll against softnet_stat, and
    sched:sched_switch against ctxt where all CPUs were recorded.
    """
    found = _known.get(capture)
    if found is None:
        found = _known[capture] = written(capture) or computed(capture)
    return found


@completeness.figures
def _figures(answer: "Answer") -> Verdict:
    found: Verdict = answer.result.without_rows
    return found


def computed(capture: "Capture") -> Completeness:
    """completeness() from the counters and the events, whatever the recorder wrote."""
    return _compared(capture, _everything)


def of_interrupts(capture: "Capture") -> Completeness:
    """completeness() of softirqs, handlers and vectors alone: what figures of time need."""
    found = _known.get(capture) or _interrupts_known.get(capture)
    if found is None:
        found = written(capture) or _compared(
            capture, lambda side: _interrupts_alone(side.bundle, side.within)
        )
        _interrupts_known[capture] = found
    return found


def of_interrupts_ahead(capture: "Capture") -> None:
    """Have the next timeline's pass count what of_interrupts() will compare."""
    known = capture in _known or capture in _interrupts_known or written(capture) is not None
    if capture.bundle is not None and not known:
        see_ahead(capture, _wanted(_interrupts_alone(capture.bundle)))


def written(capture: "Capture") -> Completeness | None:
    """What netcost-record found, None where it did not look, or left it open.

    Counting a large trace takes longer on the host than here.
    """
    record = capture.bundle.manifest.completeness if capture.bundle else None
    if record is None or record.state == "unknown" or record.rows is None:
        return None
    return with_rows(verdict_of(record), [Row(*astuple(row)) for row in record.rows])


def verdict_of(record: "Recorded") -> Verdict:
    """The verdict in the manifest."""
    reason = record.reason and record.reason[:_LONGEST]
    return Verdict(record.verdict[:_LONGEST], record.state, reason, record.lost_events)


def _compared(capture: "Capture", parts_of: "Callable[[Beside], list[_Part]]") -> Completeness:
    info, bundle = capture.info, capture.bundle
    lost, some = int(info["lost_events"]), bool(info["lost_unknown"])
    if bundle is None:
        return unknown("no counters beside it to compare with", lost)
    rolling = bundle.manifest.until is not None
    if rolling or some:
        lost = max(lost, bundle.manifest.lost_events or 0)
    if not bundle.before.reads or not bundle.after.reads:
        return unknown("no counters of known times beside it to compare with", lost)
    if capture.header.get("clock") not in _READINGS_CLOCK:
        return unknown(
            "the trace's clock is not CLOCK_MONOTONIC, that of the counters' readings", lost
        )
    if any(note.startswith(_OTHER_READINGS) for note in bundle.manifest.notes):
        return unknown(
            "the counters were read by a clock of 10 ms steps that is not the trace's", lost
        )
    side = Beside(capture, bundle)
    parts = _rows(side, parts_of(side))
    if all(part is None for part in parts):
        return unknown(
            "the counters were read outside of the recorded window"
            if side.outside
            else "no event was recorded whole that the kernel counts",
            lost,
        )
    rows = [row for part in parts for row in part or () if side.holds(row)]
    if rolling and not rows:
        return unknown("the rings reach back less than the counters", lost)
    return judged(rows, lost, some)


class Beside:
    """A capture with the counters beside it: what was recorded, when, on which CPUs."""

    def __init__(self, capture: "Capture", bundle: "Bundle") -> None:
        self.capture, self.bundle = capture, bundle
        self.start_ns, self.end_ns = recorded_window(capture, bundle)
        self.cpus = recorded_cpus(capture, bundle)
        self.begins = _ring_begins(capture) if bundle.manifest.until else {}

    def within(self, count: Counted | None) -> Counted | None:
        """The count, where it was read both times while the recorder ran."""
        if count is None:
            return None
        begin_ns, end_ns = count.window.outer
        return count if self.start_ns <= begin_ns and end_ns <= self.end_ns else None

    @property
    def outside(self) -> bool:
        windows = (counted.window_of(self.bundle, file) for file in counted.FILES)
        return any(one and self.within(Counted(one, {})) is None for one in windows)

    def reaches(self, row: Row, count: Counted) -> bool:
        """Whether a rolling recording's rings have what the counter was first read before."""
        begins = self.begins.values() if row.cpu is None else [self.begins.get(row.cpu, 0)]
        return all(at <= count.window.outer[0] for at in begins)

    def holds(self, row: Row) -> bool:
        """Whether a row is of a recorded CPU, and its counter grew: else it says nothing."""
        there = row.cpu is None or self.cpus is None or row.cpu in self.cpus
        return there and row.counted > 0


def _ring_begins(capture: "Capture") -> dict[int, int]:
    # Where a CPU's kept events begin, of those whose older ones were overwritten.
    info = capture.info
    return {
        row["cpu"]: row["end_ns"]
        for row in info["coverage"]
        if row["start_ns"] == info["start_ns"] and row["why"] == "overwritten"
    }


def recorded_window(capture: "Capture", bundle: "Bundle") -> tuple[int, int]:
    """From when until when the recorder ran: by its own word, or by its events."""
    info, said = capture.info, bundle.manifest.window
    ends = (said.start_ns, said.end_ns, info["start_ns"], info["end_ns"])
    known = [at for at in ends if at is not None]
    return (min(known), max(known)) if known else (0, 0)


def recorded_cpus(capture: "Capture", bundle: "Bundle") -> set[int] | None:
    """None for all of the host's: one without events may well have been recorded."""
    seen = set(capture.info["cpus"])
    if bundle.manifest.cpus == "all" or (seen and set(bundle.before.ticks) <= seen):
        return None
    return seen


class _Part(NamedTuple):
    # A kind of counters: what they grew by, None where they were not read both times; the events of
    # which each is one; the rows that follow.
    counts: Counted | None
    names: tuple[str, ...]
    rows: Callable[[Counted, Seen], list[Row]]
    key: str | None = None
    sum_of: str | None = None


def _everything(side: Beside) -> list[_Part]:
    bundle = side.bundle
    # Of all CPUs together, so of no use where some were not recorded.
    switches = side.within(counted.switches(bundle)) if side.cpus is None else None
    return [
        *_interrupts_within(side),
        # Before 4.8 polls do not say how many packets they took.
        _Part(side.within(counted.packets(bundle)), (_POLL,), _packets, sum_of="work"),
        _Part(switches, (_SWITCH,), _switches),
    ]


def _interrupts_within(side: Beside) -> list[_Part]:
    return _interrupts_alone(side.bundle, side.within)


def _interrupts_alone(
    bundle: "Bundle", within: Callable[[Counted | None], Counted | None] = lambda count: count
) -> list[_Part]:
    interrupts = within(counted.interrupts(bundle))
    return [
        _Part(within(counted.softirqs(bundle)), (_SOFTIRQ,), _softirqs, key="vec"),
        _Part(interrupts, (_HANDLER,), _interrupts, key="irq"),
        *(_Part(interrupts, names, partial(_vector, line)) for line, names in VECTORS.items()),
    ]


def _wanted(parts: list[_Part]) -> list[Wanted]:
    read = ((part, part.counts) for part in parts if part.counts)
    return [Wanted(of.window, part.names, part.key, part.sum_of) for part, of in read]


def _rows(side: Beside, parts: list[_Part]) -> list[list[Row] | None]:
    # None for a part that could not be compared.
    found = iter(seen(side.capture, _wanted(parts)))
    return [
        [row for row in part.rows(part.counts, known) if side.reaches(row, part.counts)]
        if part.counts and (known := next(found))
        else None
        for part in parts
    ]


def _softirqs(count: Counted, seen: Seen) -> list[Row]:
    return [
        _row("softirq", vector, cpu, grown, seen, _SOFTIRQS[vector])
        for (vector, cpu), grown in count.growth.items()
        if vector in _SOFTIRQS
    ]


def _interrupts(count: Counted, seen: Seen) -> list[Row]:
    return [
        _row("irq", line, cpu, grown, seen, int(line))
        for (line, cpu), grown in count.growth.items()
        if line.isdigit()
    ]


def _vector(line: str, count: Counted, seen: Seen) -> list[Row]:
    return [
        _row("vector", line, cpu, grown, seen)
        for (of, cpu), grown in count.growth.items()
        if of == line
    ]


def _packets(count: Counted, seen: Seen) -> list[Row]:
    return [_row("packets", of, cpu, grown, seen) for (of, cpu), grown in count.growth.items()]


def _switches(count: Counted, seen: Seen) -> list[Row]:
    outer, inner = (sum(side.values()) for side in seen)
    return [
        Row("switches", of, None, grown, outer, inner) for (of, _), grown in count.growth.items()
    ]


def _row(what: str, counter: str, cpu: int | None, grown: int, seen: Seen, key: int = 0) -> Row:
    # A count of one CPU, beside the events that are told apart by key there.
    place = (-1 if cpu is None else cpu, key)
    return Row(what, counter, cpu, grown, seen.outer.get(place, 0), seen.inner.get(place, 0))
