"""The recording's events against the counters beside it."""

from collections.abc import Callable, Iterator
from typing import NamedTuple
from weakref import WeakKeyDictionary

from msgspec.structs import astuple

from ...answers.question import Answer, question
from ...capture.bundle import Bundle
from ...capture.capture import Capture
from ...capture.event_counts import Count
from ...capture.manifest import RecordedVerdict
from . import counter_growth as counters
from .counter_growth import Growth, ReadTimes
from .verdicts import Compared, CounterRow, Verdict, judged, ranked, unknown

# Clocks whose times are those of the counters' readings.
_READINGS_CLOCK = ("monotonic", "mono")
# What netcost-record notes where /proc/timer_list says nothing, as in many containers.
_OTHER_READINGS = "victim and snapshot times are CLOCK_BOOTTIME"
# include/linux/interrupt.h, by the names of /proc/softirqs; BLOCK_IOPOLL became IRQ_POLL in 4.5.
_VECTORS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
            "RCU")  # fmt: skip
_SOFTIRQS = {name: number for number, name in enumerate(_VECTORS)} | {"BLOCK_IOPOLL": 5}
# Lines of /proc/interrupts, and the events that each count stands for.
VECTORS: dict[str, tuple[str, ...]] = {
    "LOC": ("irq_vectors:local_timer_entry",),
    "RES": ("irq_vectors:reschedule_entry",),
    "CAL": ("irq_vectors:call_function_entry", "irq_vectors:call_function_single_entry"),
}


class _Kind(NamedTuple):
    # A kind of counters, and the events that each count stands for: distinguished by a field, or
    # with a field of them added up. key: the field's value for a counter, None for one that is not
    # compared.
    what: str
    read: Callable[[Bundle], Growth | None]
    events: tuple[str, ...]
    key: Callable[[str], int | None]
    field: str | None = None
    sum_of: str | None = None


def _line(counter: str) -> int | None:
    return int(counter) if counter.isdigit() else None


_INTERRUPTS = (
    _Kind("softirq", counters.softirqs, ("irq:softirq_entry",), _SOFTIRQS.get, "vec"),
    _Kind("irq", counters.interrupts, ("irq:irq_handler_entry",), _line, "irq"),
    *(
        _Kind("vector", counters.interrupts, events, {line: 0}.get)
        for line, events in VECTORS.items()
    ),
)
_ALL = (
    *_INTERRUPTS,
    # Before 4.8 polls do not say how many packets they took.
    _Kind("packets", counters.packets, ("napi:napi_poll",), {"packets": 0}.get, sum_of="work"),
    _Kind("switches", counters.switches, ("sched:sched_switch",), {"ctxt": 0}.get),
)
# A longer line of a stranger's manifest is cut.
_LONGEST = 400
# With a larger share of the network's softirqs missing no cost of a packet is computed.
MAX_MISSING = 0.05
# What was compared, by capture: everything, and interrupts alone.
_known: "WeakKeyDictionary[Capture, Compared]" = WeakKeyDictionary()
_interrupts_known: "WeakKeyDictionary[Capture, Compared]" = WeakKeyDictionary()


@question(
    columns=("what", "counter", "cpu", "missing_least", "missing_most", "counted", "recorded")
)
def completeness(capture: Capture) -> Answer:
    """Whether a recording has all that its host counted: softirqs, interrupts, switches.

    A row per counter and CPU, most missing first. It covers the whole capture, because windows have
    no counters of their own. A counter was read between b0 and b1 before, and between a0 and a1
    after. recorded counts the events in [b0, a1], recorded_inside the events in [b1, a0]. If
    netcost-record saved its own result, that is used.

    Source: irq:softirq_entry against softirqs, irq:irq_handler_entry (lines of one handler) and
    irq_vectors against interrupts, napi:napi_poll against softnet_stat, and sched:sched_switch
    against ctxt where all CPUs were recorded.
    """
    import pandas as pd

    verdict, rows = all_compared(capture)
    columns = [*CounterRow._fields, "missing_least", "missing_most"]
    listed = [(*row, row.missing_least, row.missing_most) for row in rows]
    return Answer(
        rows=pd.DataFrame(listed, columns=columns),
        state=verdict.state,
        why=verdict.why,
        lost_events=verdict.lost_events,
    )


def all_compared(capture: Capture) -> Compared:
    """Everything that was counted; what netcost-record found, where it wrote that down."""
    if capture not in _known:
        _known[capture] = written(capture) or computed(capture)
    return _known[capture]


def computed(capture: Capture) -> Compared:
    """The same from the counters and the events, whatever the recorder wrote."""
    return _compared(capture, _ALL)


def of_interrupts(capture: Capture) -> Compared:
    """The same of softirqs, handlers and vectors alone: what figures of time need."""
    known = _known if capture in _known else _interrupts_known
    if capture not in known:
        known[capture] = written(capture) or _compared(capture, _INTERRUPTS)
    return known[capture]


def of_interrupts_ahead(capture: Capture) -> None:
    """Have the timeline's next pass count what of_interrupts() will compare."""
    known = capture in _known or capture in _interrupts_known or written(capture) is not None
    if capture.bundle is not None and not known:
        found = _comparable(capture, capture.bundle, _INTERRUPTS)
        capture.event_counts.want([_count(kind, counts) for kind, counts in found])


def network_missing(capture: Capture, cpu: int | None = None) -> float:
    """The share of NET_RX and NET_TX that is proved missing, of a CPU or of all.

    0 where nothing was counted.
    """
    rows = [
        row
        for row in all_compared(capture).rows
        if row.what == "softirq" and row.counter in ("NET_TX", "NET_RX") and cpu in (None, row.cpu)
    ]
    counted = sum(row.counted for row in rows)
    return sum(row.missing_least for row in rows) / counted if counted else 0.0


def written(capture: Capture) -> Compared | None:
    """What netcost-record found, None where it did not look, or left it open.

    Counting a large trace takes longer on the host than here.
    """
    record = capture.bundle.manifest.completeness if capture.bundle else None
    if record is None or record.state == "unknown" or record.rows is None:
        return None
    return ranked(verdict_of(record), [CounterRow(*astuple(row)) for row in record.rows])


def verdict_of(record: RecordedVerdict) -> Verdict:
    """The verdict in the manifest."""
    reason = record.reason and record.reason[:_LONGEST]
    return Verdict(record.verdict[:_LONGEST], record.state, reason, record.lost_events)


def has_readings_clock(capture: Capture) -> bool:
    # Whether the trace's clock is that of the snapshots, CLOCK_MONOTONIC.
    return capture.header.get("clock") in _READINGS_CLOCK


def _compared(capture: Capture, kinds: tuple[_Kind, ...]) -> Compared:
    info, bundle = capture.info, capture.bundle
    lost, some = int(info["lost_events"]), bool(info["lost_unknown"])
    if bundle is None:
        return unknown("no counters to compare with", lost)
    rolling = bundle.manifest.until is not None
    if rolling or some:
        lost = max(lost, bundle.manifest.lost_events or 0)
    if not bundle.before.reads or not bundle.after.reads:
        return unknown("no counters with times to compare with", lost)
    if not has_readings_clock(capture):
        return unknown(
            "the trace's clock is not CLOCK_MONOTONIC, the clock of the counters' readings", lost
        )
    if any(note.startswith(_OTHER_READINGS) for note in bundle.manifest.notes):
        return unknown(
            "the counters were read with a clock of 10 ms steps, not with the trace's", lost
        )
    cpus, window = recorded_cpus(capture, bundle), recorded_window(capture, bundle)
    compared = [
        (kind, counts)
        for kind, counts in _comparable(capture, bundle, kinds)
        # Switches are counted for all CPUs together: of no use where some were not recorded.
        if _within(counts.window, window) and (cpus is None or kind.what != "switches")
    ]
    # All are counted in one pass; None for events that lack the field.
    found = capture.event_counts.counts([_count(*one) for one in compared], capture.native.counts)
    if not any(found):
        read = [counters.read_times(bundle, file) for file in counters.FILES]
        outside = any(one and not _within(one, window) for one in read)
        return unknown(
            "the counters were read outside the recorded window"
            if outside
            else "no event that the kernel counts was recorded with all of its fields",
            lost,
        )
    begins = _ring_begins(capture) if rolling else {}
    rows = [
        row
        for (kind, counts), events in zip(compared, found, strict=True)
        for row in _rows(kind, counts, events or [])
        # A counter that did not grow shows nothing, nor one whose events a ring kept in part.
        if row.counted > 0
        and (cpus is None or row.cpu is None or row.cpu in cpus)
        and _begin(begins, row.cpu) <= counts.window.outer[0]
    ]
    if rolling and not rows:
        return unknown("the rings do not reach back as far as the counters", lost)
    return judged(rows, lost, some)


def _comparable(
    capture: Capture, bundle: Bundle, kinds: tuple[_Kind, ...]
) -> list[tuple[_Kind, Growth]]:
    # Those that were read both times, and whose events were all recorded, as far as the headers
    # tell.
    events = {event["name"]: event for event in capture.header.get("events") or ()}
    whole = {
        name
        for name, event in events.items()
        if not event.get("sampled") and not event.get("filter") and event.get("guest") is None
    }
    counts = {read: read(bundle) for read in {kind.read for kind in kinds}}
    return [
        (kind, grown)
        for kind in kinds
        if (grown := counts[kind.read]) and whole.issuperset(kind.events)
    ]


def _count(kind: _Kind, counts: Growth) -> Count:
    return kind.events, kind.field, kind.sum_of, (counts.window.outer, counts.window.inner)


def _rows(
    kind: _Kind, counts: Growth, events: list[dict[tuple[int, int], int]]
) -> Iterator[CounterRow]:
    # events: by CPU and key, while the counters may have grown and while they surely did.
    for (counter, cpu), grown in counts.counts.items() if events else ():
        key = kind.key(counter)
        if key is None:
            continue
        if kind.what == "switches":
            outer, inner = (sum(side.values()) for side in events)
        else:
            outer, inner = (side.get((-1 if cpu is None else cpu, key), 0) for side in events)
        yield CounterRow(kind.what, counter, cpu, grown, outer, inner)


def _within(read: ReadTimes, recorded: tuple[int, int]) -> bool:
    # Whether a file was read both times while the recorder ran.
    return recorded[0] <= read.outer[0] and read.outer[1] <= recorded[1]


def recorded_window(capture: Capture, bundle: Bundle) -> tuple[int, int]:
    """From when until when the recorder ran: by its own word, or by its events."""
    info, said = capture.info, bundle.manifest.window
    ends = (said.start_ns, said.end_ns, info["start_ns"], info["end_ns"])
    known = [at for at in ends if at is not None]
    return (min(known), max(known)) if known else (0, 0)


def recorded_cpus(capture: Capture, bundle: Bundle) -> set[int] | None:
    """None for all of the host's: one without events may well have been recorded."""
    seen = set(capture.info["cpus"])
    if bundle.manifest.cpus == "all" or (seen and set(bundle.before.ticks) <= seen):
        return None
    return seen


def _ring_begins(capture: Capture) -> dict[int, int]:
    # Where the events of a CPU begin whose older ones were overwritten.
    info = capture.info
    return {
        row["cpu"]: row["end_ns"]
        for row in info["coverage"]
        if row["start_ns"] == info["start_ns"] and row["why"] == "overwritten"
    }


def _begin(begins: dict[int, int], cpu: int | None) -> int:
    # Since when a ring, of None all of them, has every event.
    return max(begins.values(), default=0) if cpu is None else begins.get(cpu, 0)
