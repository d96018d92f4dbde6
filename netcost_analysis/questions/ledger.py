"""Who lost CPU time to what: the matrix of victims and thieves."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..answers.question import Answer, question
from ..display.tables import label
from ..timeline.by import By, check_by
from ..timeline.owners import (
    INTERRUPT_CONTEXTS,
    Owned,
    Victim,
    by_total,
    known_if,
    summed,
    victim_index,
    victim_of,
)
from ..timeline.timeline import Timeline
from ..units import duration, printable
from .completeness.completeness import of_interrupts_ahead
from .completeness.unrecorded import Unrecorded, note_of, unrecorded_ns

_CLASS_NAMES = {
    "from_idle": "from idle",
    "scheduled": "scheduled (in ksoftirqd and other kernel threads)",
    "synchronous": "synchronous (the tasks' own traffic)",
}
_NAMED = 3


class Cell(NamedTuple):
    """A time at least and at most, and both as shares of a time on CPU; NaN where unknown."""

    ns: int
    max_ns: int
    share: float
    max_share: float


class Column(NamedTuple):
    """One victim, or several as one.

    task: what it ran itself; it and on_cpu_ns are None where unknown. stolen: the thieves' sum.
    rest: what is neither, so that all three add up to on_cpu_ns.
    """

    name: str
    on_cpu_ns: int | None
    task: Cell | None
    thieves: list[Cell]
    stolen: Cell
    rest: Cell


@dataclass(frozen=True)
class Ledger:
    """The matrix as plain integers, without pandas.

    victims: those who lost most first. seen: the thieves that events show, the largest first.
    least, most: what a thief took from a victim at least and at most. on_cpu, ran: time on CPU
    (None without sched_switch) and time that the victim itself ran. elsewhere: time by cost class
    and thief that was taken from no victim. unrecorded: what no event shows.
    """

    victims: list[Victim]
    seen: list[str]
    least: dict[tuple[Victim, str], int]
    most: dict[tuple[Victim, str], int]
    on_cpu: dict[Victim, int] | None
    ran: dict[Victim, int]
    elsewhere: dict[str, dict[str, int]]
    unrecorded: Unrecorded

    @property
    def thieves(self) -> list[str]:
        """What ran, then what was counted and is in no event."""
        return [*self.seen, *(f"{thief}, not recorded" for thief in self.unrecorded.possible)]

    def taken(self, *victims: Victim) -> list[tuple[int, int]]:
        """What each thief took at least and at most from several victims as one.

        What no event shows is laid on them once.
        """
        seen = []
        for thief in self.seen:
            pairs = [(victim, thief) for victim in victims]
            least = sum(self.least.get(pair, 0) for pair in pairs)
            seen.append((least, sum(self.most.get(pair, 0) for pair in pairs)))
        unseen = self.unrecorded.of(*victims)
        return [*seen, *((0, unseen[thief]) for thief in self.unrecorded.possible)]

    def gathered(self, victims: int, thieves: int | None = None) -> tuple[list[str], list[Column]]:
        """The first victims and thieves, and all others as one more."""
        names = self.thieves
        kinds = _groups(names, len(names) if thieves is None else thieves)
        columns = []
        for group in _groups(self.victims, victims):
            whole = task = None
            if self.on_cpu is not None:
                whole = sum(self.on_cpu.get(victim, 0) for victim in group)
                ran = sum(self.ran.get(victim, 0) for victim in group)
                task = _cell(whole, [(ran - self.unrecorded.total(*group)[0], ran)])
            taken = dict(zip(names, self.taken(*group), strict=True))
            cells = [_cell(whole, [taken[thief] for thief in kind]) for kind in kinds]
            name = label(group[0]) if len(group) == 1 else f"{len(group)} others"
            stolen = _cell(whole, taken.values())
            rest = 0 if whole is None or task is None else whole - task.ns - stolen.max_ns
            columns.append(Column(name, whole, task, cells, stolen, _cell(whole, [(rest, rest)])))
        rows = [kind[0] if len(kind) == 1 else f"{len(kind)} others" for kind in kinds]
        return rows, columns

    def elsewhere_lines(self) -> list[str]:
        """What interrupts and kthreads took from no task, or did for the task: a line per class."""
        lines = []
        for cost_class, taken in self.elsewhere.items():
            most = sorted(taken.items(), key=lambda thief: -thief[1])[:_NAMED]
            largest = ", ".join(f"{thief} {duration(ns)}" for thief, ns in most if ns)
            name = _CLASS_NAMES.get(cost_class, cost_class or "no class")
            lines.append(printable(f"{name}: {duration(sum(taken.values()))} ({largest})"))
        return lines


def _cell(whole_ns: int | None, ends: Iterable[tuple[int, int]]) -> Cell:
    low, high = (sum(ns) for ns in zip((0, 0), *ends, strict=True))
    if not whole_ns:
        return Cell(low, high, float("nan"), float("nan"))
    return Cell(low, high, low / whole_ns, high / whole_ns)


def _groups(items: list[Any], most: int) -> list[list[Any]]:
    # A single other keeps its own name.
    kept = len(items) if len(items) <= most + 1 else most
    rest = items[kept:]
    return [[item] for item in items[:kept]] + ([rest] if rest else [])


@question(topic="stolen_time")
def ledger(timeline: Timeline, by: By = "comm") -> Answer:
    """The victim x thief matrix of a timeline.

    - by: Victims by command, by task, or all tasks of a CPU; "device" is as "comm", with everything
      a device did gathered in one thief.

    ns, max_ns: a row per victim, a column per thief. The last columns of max_ns, such as "NET_RX,
    not recorded", are for softirq vectors and interrupts that the kernel counted and no event
    shows. Idle time belongs to nobody: the idle task is not a victim, and what ran on top of it is
    in elsewhere as from_idle.

    Source: the timeline's sums, that is its segments summed by owner.
    """
    import pandas as pd

    matrix = ledger_of(timeline, by)
    index, thieves = victim_index(matrix.victims, by), pd.Index(matrix.thieves, name="thief")
    taken = [matrix.taken(victim) for victim in matrix.victims]
    least, most = (
        pd.DataFrame([[ends[end] for ends in row] for row in taken], index, thieves, dtype="int64")
        for end in (0, 1)
    )
    own = {
        "on_cpu_ns": [(matrix.on_cpu or {}).get(victim, 0) for victim in matrix.victims],
        "task_min_ns": [
            matrix.ran.get(victim, 0) - matrix.unrecorded.total(victim)[0]
            for victim in matrix.victims
        ],
        "task_ns": [matrix.ran.get(victim, 0) for victim in matrix.victims],
    }
    classes = pd.Index(list(matrix.elsewhere), name="cost_class")
    elsewhere = pd.DataFrame(list(matrix.elsewhere.values()), classes, dtype="int64")
    return Answer(
        by=by,
        ns=least,
        max_ns=most,
        **{
            name: known_if(matrix.on_cpu is not None, pd.Series(ns, index, "int64", name))
            for name, ns in own.items()
        },
        elsewhere=elsewhere.rename_axis(columns="thief"),
        lines=matrix.elsewhere_lines(),
        window_ns=timeline.duration_ns,
        cpus=list(timeline.summary["cpus"]),
        recorded_share=timeline.recorded,
        owned_share=timeline.owned,
        notes=(*timeline.notes, *note_of(timeline)),
    )


def ledger_of(timeline: Timeline, by: By) -> Ledger:
    """ledger() without pandas."""
    check_by(by)
    of_interrupts_ahead(timeline.capture)
    rows = timeline.owned_by(by)
    interrupts = [row for row in rows if row.context in INTERRUPT_CONTEXTS]
    surely = [row for row in interrupts if row.cost_class == "stolen"]
    taken = surely + [row for row in interrupts if row.cost_class == "stolen_or_synchronous"]
    rest = [row for row in interrupts if not row.cost_class.startswith("stolen")]
    tasks = [row for row in rows if row.of_task]

    def by_victim(some: Iterable[Owned]) -> dict[Victim, int]:
        return summed((victim_of(row, by), row.ns) for row in some)

    on_cpu, lost = by_victim(tasks), by_victim(taken)
    least, most = (
        summed(((victim_of(row, by), row.thief), row.ns) for row in some)
        for some in (surely, taken)
    )
    elsewhere = summed(((row.cost_class, row.thief), row.ns) for row in rest)
    takers = by_total(summed((row.thief, row.ns) for row in rest))
    return Ledger(
        victims=sorted(
            dict.fromkeys([*on_cpu, *lost]),
            key=lambda victim: (-lost.get(victim, 0), -on_cpu.get(victim, 0)),
        ),
        seen=by_total(summed((row.thief, row.ns) for row in taken)),
        least=least,
        most=most,
        on_cpu=None if timeline.missing["on_cpu"] else on_cpu,
        ran=by_victim(row for row in tasks if row.context == "task"),
        elsewhere={
            cost_class: {thief: elsewhere.get((cost_class, thief), 0) for thief in takers}
            for cost_class in sorted({row.cost_class for row in rest})
        },
        unrecorded=unrecorded_ns(timeline, by),
    )
