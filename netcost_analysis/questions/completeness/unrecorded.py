# Interrupts and softirqs that the kernel counted and the trace lacks: how much of a task's own time
# on CPU they may have taken.

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ...capture.capture import Capture
from ...timeline.by import By
from ...timeline.owners import Owned, Victim, summed, thief_label, victim_of
from ...timeline.reading import once
from ...timeline.timeline import Timeline
from ...units import duration
from .completeness import VECTORS, of_interrupts
from .verdicts import CounterRow

NETWORK = ("NET_RX", "NET_TX")
_KINDS = ("softirq", "irq", "vector")
# Vectors by their names in the ledger; /proc/interrupts counts two of them as one.
_LINES = {
    event.removeprefix("irq_vectors:").removesuffix("_entry"): line
    for line, events in VECTORS.items()
    for event in events
}
_MAX_NAMED = 3


# By CPU, kind and counter: the longest, the sum, and the count.
Recorded = dict[tuple[int, str, str], tuple[int, int, int]]


class Missing(NamedTuple):
    # A counter on a CPU of whose interrupts or softirqs some are proved missing, at least so many.
    # thief: their name in the ledger; network: whether they are network, or may be; longest_ns,
    # mean_ns: how long the recorded ones took, None and 0 where there are none.
    cpu: int
    kind: str
    counter: str
    thief: str
    network: bool
    least: int
    longest_ns: int | None
    mean_ns: float


@dataclass(frozen=True)
class Unrecorded:
    """How much of each victim's own time interrupts may have taken that the trace lacks.

    own: how long each victim ran itself, by CPU; missing: network first; window_ns: how long any of
    them can have run on a CPU; trace_ns: the length of the whole trace.
    """

    own: dict[int, dict[Victim, int]]
    missing: list[Missing]
    window_ns: int
    trace_ns: int

    @cached_property
    def thieves(self) -> list[str]:
        """Whose time may be missing, network first."""
        return list(dict.fromkeys(one.thief for one in self.missing))

    @cached_property
    def network(self) -> list[str]:
        """Those of them that are network, or may be."""
        return list(dict.fromkeys(one.thief for one in self.missing if one.network))

    @cached_property
    def each(self) -> dict[Victim, dict[str, int]]:
        """By victim that may have lost any, ns by thief."""
        lost = self._laid_on(self.own)
        return {victim: lost[victim] for victim in sorted(lost) if any(lost[victim].values())}

    @cached_property
    def possible(self) -> list[str]:
        """The thieves of whom any victim may have lost any."""
        return [name for name in self.thieves if any(of[name] for of in self.each.values())]

    def of(self, *victims: Victim) -> dict[str, int]:
        """By thief, of several victims as one: what is missing on a CPU is missing once."""
        if len(victims) == 1:
            return self.each.get(victims[0], dict.fromkeys(self.thieves, 0))
        own = {}
        for cpu, ran in self.own.items():
            together = sum(ran.get(victim, 0) for victim in victims)
            own[cpu] = {victims[0]: min(together, self.window_ns)}
        return self._laid_on(own)[victims[0]]

    def total(self, *victims: Victim) -> tuple[int, int]:
        """The sum over thieves of several victims as one, and of it what may be network."""
        lost = self.of(*victims)
        return sum(lost.values()), sum(lost[thief] for thief in self.network)

    def expected(self, *victims: Victim) -> tuple[int, int]:
        """As total(), if each took the mean of those recorded, at any time of the trace."""
        ns, network = 0.0, 0.0
        for one in self.missing:
            own = sum(self.own[one.cpu].get(victim, 0) for victim in victims)
            hit = one.least * one.mean_ns * min(own, self.window_ns) / max(self.trace_ns, 1)
            ns += hit
            network += hit * one.network
        return round(ns), round(network)

    def _laid_on(self, own: dict[int, dict[Victim, int]]) -> dict[Victim, dict[str, int]]:
        each: dict[Victim, dict[str, int]] = defaultdict(lambda: dict.fromkeys(self.thieves, 0))
        for cpu, ran in own.items():
            left = dict(ran)
            for one in (one for one in self.missing if one.cpu == cpu):
                for victim, ns in left.items():
                    longest_ns = one.longest_ns
                    lost = ns if longest_ns is None else min(ns, one.least * longest_ns)
                    # Two lines of a device may be one thief.
                    each[victim][one.thief] += lost
                    left[victim] -= lost
        return each


def proved(capture: Capture) -> list[CounterRow]:
    # The rows of completeness() that prove interrupts or softirqs missing. A bare recording has no
    # counters.
    if capture.bundle is None:
        return []
    rows = of_interrupts(capture).rows
    return [row for row in rows if row.what in _KINDS and row.missing_least > 0]


def missing(timeline: Timeline, by: By = "comm") -> list[Missing]:
    """What is proved missing on the timeline's CPUs, most first; by: as thieves are named."""
    # The timeline's CPUs take a pass: where nothing is missing none is made.
    lacking = proved(timeline.capture)
    lacking = lacking and [row for row in lacking if row.cpu in timeline.summary["cpus"]]
    if not lacking:
        return []
    # A window may lack an interrupt that the whole recording has.
    recorded, rows = _lengths(_whole(timeline)), timeline.owned_by(by)
    return [
        Missing(
            int(row.cpu or 0),
            row.what,
            row.counter,
            *_thief(rows, row.what, row.counter),
            row.missing_least,
            *_lengths_of(recorded, int(row.cpu or 0), row.what, row.counter),
        )
        for row in lacking
    ]


def _thief(rows: list[Owned], kind: str, counter: str) -> tuple[str, bool]:
    # It may be network unless recorded ones show that it is not.
    if kind == "softirq":
        return counter, counter in NETWORK
    if kind == "irq":
        own = [row for row in rows if row.context == "hardirq" and row.id == int(counter)]
        names = [*(row.thief for row in own), thief_label("hardirq", counter, None, None)]
    else:
        own = [row for row in rows if row.context == "vector" and _line(row.name) == counter]
        of_line = [name for name, line in _LINES.items() if line == counter]
        names = [*(str(row.name) for row in own), *of_line]
    return names[0], not own or any(row.is_network != "no" for row in own)


def _line(vector: str | None) -> str | None:
    return _LINES.get(vector or "")


def _lengths_of(recorded: Recorded, cpu: int, kind: str, counter: str) -> tuple[int | None, float]:
    # The longest and the mean of that counter on that CPU, else on any CPU, else of any counter of
    # its kind.
    there = [of for place, of in recorded.items() if place == (cpu, kind, counter)]
    of_kind = {place: of for place, of in recorded.items() if place[1] == kind}
    elsewhere = [of for place, of in of_kind.items() if place[2] == counter]
    found = there or elsewhere or list(of_kind.values())
    if not found:
        return None, 0.0
    longest, sums, counts = zip(*found, strict=True)
    return max(longest), sum(sums) / max(sum(counts), 1)


@once
def _lengths(whole: Timeline) -> Recorded:
    found: Recorded = {}
    columns = whole.columns("longest")
    for cpu, context, irq, name, ns, sum_ns, count in zip(*columns.values(), strict=True):
        kind, counter = {
            "softirq": ("softirq", name),
            "hardirq": ("irq", str(irq)),
            "vector": ("vector", _line(name)),
        }[context]
        if counter is not None:
            most, total_ns, number = found.get((cpu, kind, counter), (0, 0, 0))
            found[cpu, kind, counter] = (max(ns, most), total_ns + sum_ns, number + count)
    return found


def _whole(timeline: Timeline) -> Timeline:
    return timeline if timeline.is_whole else timeline.capture.whole


def unrecorded_ns(timeline: Timeline, by: By) -> Unrecorded:
    """How much of each victim's own time interrupts may have taken that the trace lacks.

    All that may be missing on a CPU is charged to each victim in turn, each interrupt or softirq
    with the longest time recorded for its counter there, up to the time that the victim itself is
    said to have run on that CPU.
    """
    order = sorted(missing(timeline, by), key=lambda one: not one.network)
    own = {cpu: _own_on(timeline, cpu, by) for cpu in dict.fromkeys(one.cpu for one in order)}
    trace_ns = _whole(timeline).duration_ns if order else timeline.duration_ns
    return Unrecorded(own, order, timeline.duration_ns, trace_ns)


def _own_on(timeline: Timeline, cpu: int, by: By) -> dict[Victim, int]:
    # How long each victim ran itself on a CPU.
    rows = [row for row in timeline.owned_by(by) if row.of_task and row.cpu == cpu]
    if timeline.missing["on_cpu"]:
        # How long a task had a CPU is not known: at most all the time.
        return dict.fromkeys((victim_of(row, by) for row in rows), timeline.duration_ns)
    # Softirqs take nothing from kernel threads that exist to run them.
    own = (row for row in rows if row.context == "task" and row.cost_class == "")
    return summed((victim_of(row, by), row.ns) for row in own)


def note_of(timeline: Timeline) -> list[str]:
    """What a reader of the ranges has to know of interrupts that are missing; empty if none is."""
    return _note(
        timeline,
        "The upper ends of what a task lost assume that each lasted as long as the longest of its "
        "kind that was recorded on that CPU, and that all of them interrupted that task",
    )


def lower_ends_of(timeline: Timeline) -> list[str]:
    """The same for a reader of figures that have no range."""
    return _note(
        timeline,
        "A time or count of interrupts, softirqs, polls or packets without an upper end is a lower "
        "bound",
    )


def _note(timeline: Timeline, consequence: str) -> list[str]:
    if not (lacking := missing(timeline)):
        return []
    kinds = {"softirqs" if one.kind == "softirq" else "interrupts" for one in lacking}
    named, more = ", ".join(map(_named, lacking[:_MAX_NAMED])), len(lacking) - _MAX_NAMED
    return [
        f"the kernel counted {' and '.join(sorted(kinds))} that no event of the recording "
        f"shows: {named}{f' and {more} more' if more > 0 else ''}. {consequence}"
    ]


def _named(one: Missing) -> str:
    lengths = ""
    if one.longest_ns is not None:
        lengths = f" (mean {duration(round(one.mean_ns))}, longest {duration(one.longest_ns)})"
    return f"{one.least:,} {one.thief} on CPU {one.cpu}{lengths}"
