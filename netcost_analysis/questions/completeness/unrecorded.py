# Time of interrupts and softirqs that the kernel counted and the trace has not: how much of a
# task's own time on CPU they may have been.

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import pandas as pd

from ...timeline.aggregate import of_tasks, thief_label
from ...timeline.by import By, victim_keys
from ...units import duration
from .compare import VECTORS, of_interrupts

if TYPE_CHECKING:
    from ...capture.capture import Capture
    from ...timeline.timeline import Timeline

NETWORK = ("NET_RX", "NET_TX")
# Kinds of completeness()'s rows, and the table that has the lengths of each.
_TABLES = {"softirq": "softirqs", "irq": "hardirqs", "vector": "hardirqs"}
# Vectors by their names in the ledger; /proc/interrupts counts two of them as one.
_LINES = {
    event.removeprefix("irq_vectors:").removesuffix("_entry"): line
    for line, events in VECTORS.items()
    for event in events
}
_MOST_NAMED = 3
# Their softirqs, all at once, take 400 MB.
_MOST_EVENTS = 5_000_000
# By CPU, kind and counter.
Longest = dict[tuple[int, str, str], int]
# A pass over the capture, and several figures of one page need it.
_longest: "WeakKeyDictionary[Capture, Longest]" = WeakKeyDictionary()


class Missing(NamedTuple):
    # Interrupts or softirqs of a counter on a CPU of which some are proved missing; thief: as the
    # ledger names them; network: whether they are, or may be; each_ns: the longest that was
    # recorded, None where none was.
    cpu: int
    kind: str
    counter: str
    thief: str
    network: bool
    least: int
    each_ns: int | None


class Unrecorded(NamedTuple):
    """How much of each victim's own time may have been what the trace has not.

    ns: int64, a row for each victim that may have lost any, a column for each thief, network ones
    first. network: those columns that are network, or may be.
    """

    ns: pd.DataFrame
    network: list[str]

    def of(self, victims: pd.Index, thieves: list[str] | None = None) -> "pd.Series[int]":
        """The sum over thieves (None: all) for each of the victims."""
        each = self.ns if thieves is None else self.ns[thieves]
        return each.sum(axis=1).reindex(victims, fill_value=0).astype("int64")

    def least(self, task_ns: "pd.Series[int]") -> "pd.Series[int]":
        """The least that each victim ran itself, of what it is said to have run."""
        least: pd.Series[int] = (task_ns - self.of(task_ns.index)).rename("task_min_ns")
        return least


def proved_softirqs(capture: "Capture") -> pd.DataFrame | None:
    # The rows of completeness() that prove softirqs missing. A bare recording has no counters.
    rows = _proved(capture)
    return None if rows is None else rows[rows["what"] == "softirq"]


def _proved(capture: "Capture") -> pd.DataFrame | None:
    if capture.bundle is None:
        return None
    rows = of_interrupts(capture).rows
    return rows[rows["what"].isin(list(_TABLES)) & (rows["missing_least"] > 0)]


def prepare(timeline: "Timeline") -> None:
    """Compute in one pass what is needed of a timeline, where interrupts are proved missing."""
    tables = _tables(timeline.capture)
    if tables and _is_small(timeline):
        timeline.load(*tables)


def _tables(capture: "Capture") -> list[str]:
    proved = _proved(capture)
    return [] if proved is None else sorted({_TABLES[str(kind)] for kind in proved["what"]})


def _is_small(timeline: "Timeline") -> bool:
    return timeline.capture.event_count <= _MOST_EVENTS


def missing(timeline: "Timeline", by: By = "comm") -> list[Missing]:
    """What is proved missing on the timeline's CPUs, most first; by: as thieves are named."""
    proved = _proved(timeline.capture)
    if proved is not None:
        proved = proved[proved["cpu"].isin(timeline.summary["cpus"])]
    if proved is None or not len(proved):
        return []
    longest = longest_recorded(timeline)
    found = []
    for row in proved.to_dict("records"):
        cpu, kind, counter = int(row["cpu"]), str(row["what"]), str(row["counter"])
        thief, network = _thief(timeline.tally(by), kind, counter)
        each_ns = _each(longest, cpu, kind, counter)
        found.append(
            Missing(cpu, kind, counter, thief, network, int(row["missing_least"]), each_ns)
        )
    return found


def _thief(rows: pd.DataFrame, kind: str, counter: str) -> tuple[str, bool]:
    # What no recorded one shows not to be network may be.
    if kind == "softirq":
        return counter, counter in NETWORK
    if kind == "irq":
        own = rows[(rows["context"] == "hardirq") & (rows["id"] == int(counter)).fillna(False)]
        name = own["thief"].iloc[0] if len(own) else thief_label("hardirq", counter, None, None)
    else:
        own = rows[(rows["context"] == "vector") & (rows["name"].map(_LINES) == counter)]
        names = [*own["name"], *(name for name, line in _LINES.items() if line == counter)]
        name = names[0]
    return str(name), not len(own) or bool((own["is_network"] != "no").any())


def _each(longest: Longest, cpu: int, kind: str, counter: str) -> int | None:
    # Of that counter there, else of that counter on any CPU, else of any of its kind.
    there = [ns for place, ns in longest.items() if place == (cpu, kind, counter)]
    of_kind = {place: ns for place, ns in longest.items() if place[1] == kind}
    elsewhere = [ns for place, ns in of_kind.items() if place[2] == counter]
    return max(there or elsewhere or of_kind.values(), default=None)


def longest_recorded(timeline: "Timeline") -> Longest:
    # By CPU, kind and counter the own time of the longest of the whole recording: a window may hold
    # none.
    capture = timeline.capture
    if capture not in _longest:
        whole = timeline.start is None and timeline.end is None and not timeline.cpus
        tables = _tables(capture)
        found: Longest = {}
        for piece in _pieces(timeline if whole else capture.timeline(), tables):
            for row in pd.concat([_lengths(piece, table) for table in tables]).to_dict("records"):
                place = int(row["cpu"]), str(row["kind"]), str(row["counter"])
                found[place] = max(int(row["self_ns"]), found.get(place, 0))
        _longest[capture] = found
    return _longest[capture]


def _lengths(piece: "Timeline", table: str) -> pd.DataFrame:
    # Per CPU, kind and counter the longest of a table.
    rows = piece.softirqs if table == "softirqs" else piece.hardirqs
    frame = rows[["cpu", "self_ns"]].copy()
    if table == "softirqs":
        frame["kind"], frame["counter"] = "softirq", rows["action"].astype(object)
    else:
        handler = rows["context"] == "hardirq"
        name = rows["name"].astype(object)
        frame["kind"] = handler.map({True: "irq", False: "vector"})
        frame["counter"] = rows["irq"].astype(object).where(handler, name.map(_LINES))
    frame = frame.dropna().astype({"counter": str})
    return frame.groupby(["cpu", "kind", "counter"])["self_ns"].max().reset_index()


def _pieces(timeline: "Timeline", tables: list[str]) -> "Iterable[Timeline]":
    if _is_small(timeline):
        return [timeline.load(*tables)]
    from ..stolen_time.chunks import chunks

    return chunks(timeline, *tables)


def unrecorded_ns(timeline: "Timeline", by: By) -> Unrecorded:
    """How much of each victim's own time may have been interrupts that the trace has not.

    All that may be missing on a CPU is laid on top of each victim in turn, each interrupt or
    softirq as long as the longest of its counter recorded there, up to the time that the victim
    itself is said to have run on that CPU.
    """
    rows, keys = timeline.tally(by), victim_keys(by)
    order = sorted(missing(timeline, by), key=lambda one: not one.network)
    if not order:
        return Unrecorded(rows.iloc[:0].set_index(keys)[[]], [])
    own = of_tasks(rows)
    # Kernel threads that exist to run softirqs are not robbed by them.
    own = own[(own["context"] == "task") & (own["cost_class"] == "")]
    if not timeline.has_switches:
        own = _all_the_time(timeline, of_tasks(rows), keys)
    thieves = list(dict.fromkeys(one.thief for one in order))
    empty = pd.DataFrame(0, index=own.iloc[:0].set_index(keys).index, columns=thieves)
    parts = [empty.astype("int64")]
    for cpu in dict.fromkeys(one.cpu for one in order):
        left = own[own["cpu"] == cpu].groupby(keys, dropna=False)["ns"].sum()
        part = pd.DataFrame(0, index=left.index, columns=thieves, dtype="int64")
        for one in (one for one in order if one.cpu == cpu):
            whole = int(left.max()) if len(left) else 0
            taken = left.clip(upper=whole if one.each_ns is None else one.least * one.each_ns)
            # Two lines of a device may be one thief.
            part[one.thief] += taken.astype("int64")
            left = left - taken
        parts.append(part)
    frame = pd.concat([part.reset_index() for part in parts], ignore_index=True)
    summed = frame.groupby(keys, dropna=False)[thieves].sum().astype("int64")
    network = list(dict.fromkeys(one.thief for one in order if one.network))
    return Unrecorded(summed[summed.sum(axis=1) > 0], network)


def _all_the_time(timeline: "Timeline", rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    # Without sched_switch nobody knows how long a task had a CPU: at most all the time.
    known = rows[list(dict.fromkeys(["cpu", *keys]))].drop_duplicates()
    return known.assign(ns=timeline.duration_ns)


def note_of(timeline: "Timeline") -> list[str]:
    """What a reader of the ranges has to know of interrupts that are missing; empty if none is."""
    return [
        f"{said}; the upper ends of what a task lost take each for as long as the longest recorded "
        "of its kind there, and all of them for being on top of that task"
        for said in _counted(timeline)
    ]


def lower_ends_of(timeline: "Timeline") -> list[str]:
    """The same for a reader of figures that have no range."""
    return [
        f"{said}; a time or count of interrupts, softirqs, polls or packets that has no upper end "
        "is a lower end"
        for said in _counted(timeline)
    ]


def _counted(timeline: "Timeline") -> list[str]:
    found = missing(timeline)
    if not found:
        return []
    named = [_named(one) for one in found[:_MOST_NAMED]]
    more = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
    kinds = {"softirqs" if one.kind == "softirq" else "interrupts" for one in found}
    return [
        f"the kernel counted {' and '.join(sorted(kinds))} that no event of the recording shows: "
        f"{', '.join(named)}{more}"
    ]


def _named(one: Missing) -> str:
    each = "" if one.each_ns is None else f" (longest {duration(one.each_ns)})"
    return f"{one.least:,} {one.thief} on CPU {one.cpu}{each}"
