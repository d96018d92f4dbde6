"""Who lost CPU time to what: the matrix of victims and thieves."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..accessors import load
from ..answers.question import question
from ..display.tables import label
from ..timeline.by import By, check_by
from ..timeline.owners import (
    INTERRUPT_CONTEXTS,
    Victim,
    by_total,
    known_if,
    summed,
    victim_index,
    victim_of,
)
from ..timeline.timeline import Timeline
from .completeness.completeness import of_interrupts_ahead
from .completeness.unrecorded import Unrecorded, note_of, unrecorded_ns

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    import pandas as pd


class Cell(NamedTuple):
    """A time, from and to, and both as shares of a time on CPU; NaN where that is unknown."""

    ns: int
    max_ns: int
    share: float
    max_share: float

    @classmethod
    def of(cls, whole_ns: int | None, low_ns: int, high_ns: int) -> "Cell":
        """Of times and the whole that shares are of."""
        if not whole_ns:
            return cls(low_ns, high_ns, float("nan"), float("nan"))
        return cls(low_ns, high_ns, low_ns / whole_ns, high_ns / whole_ns)


class Column(NamedTuple):
    """One victim or several: who, their time on CPU and what they ran (None where unknown).

    thieves: a cell for each; stolen: all of them.
    """

    victims: tuple[Victim, ...]
    on_cpu_ns: int | None
    task: Cell | None
    thieves: list[Cell]
    stolen: Cell

    @property
    def name(self) -> str:
        """Who, in words."""
        if len(self.victims) > 1:
            return f"{len(self.victims)} others"
        return label(self.victims[0])


class Gathered(NamedTuple):
    """A ledger as a table of a page's size: the thieves' names, and a column for each victim."""

    thieves: list[str]
    columns: list[Column]


class Own(NamedTuple):
    """A victim's time on CPU, and the part in which it ran itself, at least and as recorded."""

    on_cpu_ns: int
    task_min_ns: int
    task_ns: int


@dataclass(frozen=True)
class Ledger:
    """The victim x thief matrix of one timeline.

    Its frames are made on first use, from what they show as plain integers.

    Attributes
    ----------
    by : str
        What victims are told apart by.
    victims : tuple
        Each a comm, a (tid, comm), or a CPU; falling by what it lost.
    thieves : tuple of str
        What ran, falling by what it took.
    least, most : tuple
        The rows of ns and max_ns.
    own : tuple or None
        Per victim on_cpu_ns, task_min_ns and task_ns; None where they are not known.
    others : dict
        By cost class, then by thief, ns of no victim.
    unrecorded : Unrecorded
        What may be missing of each victim: the last columns of most.
    window_ns, cpus, during : int, list of int, str
        How long the timeline is, of which CPUs, and whose run it is in words ("" of nobody's).
    recorded_share, owned_share : float or None
        Of the CPUs' window what was recorded without loss, and of that what has a known owner.
    notes : list of str
        Those of the timeline.
    """

    by: By
    victims: tuple[Victim, ...]
    thieves: tuple[str, ...]
    least: tuple[tuple[int, ...], ...]
    most: tuple[tuple[int, ...], ...]
    own: tuple[Own, ...] | None
    others: dict[str, dict[str, int]]
    unrecorded: Unrecorded
    window_ns: int
    cpus: tuple[int, ...]
    recorded_share: float | None
    owned_share: float | None
    notes: tuple[str, ...]
    during: str
    part_names: ClassVar[tuple[str, ...]] = (
        *("by", "ns", "max_ns", "on_cpu_ns", "task_min_ns", "task_ns", "elsewhere"),
        *("window_ns", "cpus", "recorded_share", "owned_share", "notes"),
    )

    @cached_property
    def ns(self) -> "pd.DataFrame":
        """What was stolen from each victim, by thief, ns (int64).

        Time the thief ran on top of the victim in cost class stolen: a row per victim, a column per
        thief.
        """
        return self._matrix(self.least)

    @cached_property
    def max_ns(self) -> "pd.DataFrame":
        """The same at most.

        With stolen_or_synchronous added, time that may have been the victim's own, and, last, a
        column "NET_RX, not recorded" for each softirq vector and interrupt of which the kernel
        counted some that no event shows; the truth lies between.
        """
        return self._matrix(self.most)

    @cached_property
    def on_cpu_ns(self) -> "pd.Series[int]":
        """Each victim's time on CPU, whoever used it (Int64, NA without sched_switch)."""
        return self._per_victim("on_cpu_ns")

    @cached_property
    def task_min_ns(self) -> "pd.Series[int]":
        """What of it the victim surely ran itself, without what was not recorded (Int64)."""
        return self._per_victim("task_min_ns")

    @cached_property
    def task_ns(self) -> "pd.Series[int]":
        """What of it the victim ran itself, as far as was recorded (Int64)."""
        return self._per_victim("task_ns")

    @cached_property
    def elsewhere(self) -> "pd.DataFrame":
        """What was stolen from no task, ns (int64).

        A row per other cost class (from_idle, scheduled, synchronous), a column per thief.
        """
        import pandas as pd

        rows = [list(taken.values()) for taken in self.others.values()]
        thieves = next(iter(self.others.values()), {})
        index = pd.Index(list(self.others), name="cost_class")
        return pd.DataFrame(rows, index=index, columns=_thieves(thieves), dtype="int64")

    @property
    def elsewhere_most(self) -> list[tuple[str, int, list[tuple[str, int]]]]:
        """The same for a reader: the class, its ns, and the three thieves with most of it."""
        return [
            (name, sum(taken.values()), sorted(taken.items(), key=lambda one: -one[1])[:3])
            for name, taken in self.others.items()
        ]

    def _matrix(self, rows: tuple[tuple[int, ...], ...]) -> "pd.DataFrame":
        import pandas as pd

        index = victim_index(self.victims, self.by)
        return pd.DataFrame(rows, index=index, columns=_thieves(self.thieves), dtype="int64")

    def _per_victim(self, name: str) -> "pd.Series[int]":
        import pandas as pd

        index = victim_index(self.victims, self.by)
        own = [getattr(one, name) for one in self.own or [Own(0, 0, 0)] * len(index)]
        return known_if(self.own is not None, pd.Series(own, index=index, name=name, dtype="int64"))

    @property
    def stolen_ns(self) -> "pd.Series[int]":
        """What each victim lost in all."""
        return self.ns.sum(axis=1)

    @property
    def stolen_max_ns(self) -> "pd.Series[int]":
        """The same with what may have been its own."""
        return self.max_ns.sum(axis=1)

    @property
    def share(self) -> "pd.DataFrame":
        """ns as a share of the victim's time on CPU, 0 to 1; NaN where that is unknown."""
        return _share(self.ns, self.on_cpu_ns)

    @property
    def max_share(self) -> "pd.DataFrame":
        """max_ns as a share of the victim's time on CPU."""
        return _share(self.max_ns, self.on_cpu_ns)

    def gathered(self, victims: int, thieves: int | None = None) -> "Gathered":
        """The first victims and thieves; the others in one more, one as is.

        Parameters
        ----------
        victims : int
            How many.
        thieves : int, optional
            How many; all unless given.

        Returns
        -------
        Gathered
            The smaller matrix.
        """
        many = len(self.thieves)
        kinds = _groups(many, many if thieves is None else thieves)
        names = [self.thieves[one[0]] if len(one) == 1 else f"{len(one)} others" for one in kinds]
        columns = []
        for group in _groups(len(self.victims), victims):
            least, most = self._of(group)
            ends = [(sum(least[i] for i in one), sum(most[i] for i in one)) for one in kinds]
            whole = task = None
            if self.own is not None:
                whole, task_ns = (
                    sum(ns) for ns in zip(*(self.own[row][::2] for row in group), strict=True)
                )
                unseen, _ = self.unrecorded.total(*(self.victims[row] for row in group))
                task = Cell.of(whole, task_ns - unseen, task_ns)
            columns.append(
                Column(
                    tuple(self.victims[row] for row in group),
                    whole,
                    task,
                    [Cell.of(whole, *pair) for pair in ends],
                    Cell.of(whole, sum(least), sum(most)),
                )
            )
        return Gathered(names, columns)

    def _of(self, group: list[int]) -> tuple[list[int], list[int]]:
        # By thief, of several victims as one: what no event shows is laid on all of them once.
        least, most = (
            [sum(column) for column in zip(*(matrix[row] for row in group), strict=True)]
            for matrix in (self.least, self.most)
        )
        unseen = self.unrecorded.of(*(self.victims[row] for row in group))
        taken = [unseen[thief] for thief in self.unrecorded.possible]
        return least, most[: len(most) - len(taken)] + taken

    def __repr__(self) -> str:
        return str(load("questions.ledger_tables:ledger_text")(self))

    def _repr_html_(self) -> str:
        return str(load("questions.ledger_tables:ledger_html")(self))


@question(topic="stolen_time")
def ledger(timeline: Timeline, by: By = "comm") -> Ledger:
    """The victim x thief matrix of a timeline.

    - by: Victims by command, by task, or all tasks of a CPU; "device" is as "comm", with everything
      a device did gathered in one thief.

    The matrix, in ns, and what belongs to no victim.

    Idle time is nobody's: the idle task is no victim, and what ran on top of it is in elsewhere as
    from_idle.

    Source: the timeline's sums, that is its segments summed by owner.
    """
    check_by(by)
    of_interrupts_ahead(timeline.capture)
    rows = timeline.owned_by(by)
    interrupts = [row for row in rows if row.context in INTERRUPT_CONTEXTS]
    surely = [row for row in interrupts if row.cost_class == "stolen"]
    taken = surely + [row for row in interrupts if row.cost_class == "stolen_or_synchronous"]
    tasks = [row for row in rows if row.of_task]
    on_cpu = summed((victim_of(row, by), row.ns) for row in tasks)
    loss = summed((victim_of(row, by), row.ns) for row in taken)
    victims = sorted(
        dict.fromkeys([*on_cpu, *loss]),
        key=lambda victim: (-loss.get(victim, 0), -on_cpu.get(victim, 0)),
    )
    least, most = (
        summed(((victim_of(row, by), row.thief), row.ns) for row in part)
        for part in (surely, taken)
    )
    seen = by_total(summed((row.thief, row.ns) for row in taken))
    unrecorded = unrecorded_ns(timeline, by)
    missing = unrecorded.possible
    none = (0,) * len(missing)
    own = None
    if not timeline.missing["on_cpu"]:
        ran = summed((victim_of(row, by), row.ns) for row in tasks if row.context == "task")
        own = tuple(
            Own(on_cpu.get(victim, 0), task_ns - unrecorded.total(victim)[0], task_ns)
            for victim in victims
            for task_ns in [ran.get(victim, 0)]
        )
    rest = [row for row in interrupts if not row.cost_class.startswith("stolen")]
    elsewhere = summed(((row.cost_class, row.thief), row.ns) for row in rest)
    takers = by_total(summed((row.thief, row.ns) for row in rest))
    return Ledger(
        by=by,
        victims=tuple(victims),
        thieves=(*seen, *(f"{thief}, not recorded" for thief in missing)),
        least=tuple((*(least.get((one, thief), 0) for thief in seen), *none) for one in victims),
        most=tuple(
            (
                *(most.get((one, thief), 0) for thief in seen),
                *(unrecorded.of(one)[thief] for thief in missing),
            )
            for one in victims
        ),
        own=own,
        others={
            cost_class: {thief: elsewhere.get((cost_class, thief), 0) for thief in takers}
            for cost_class in sorted({row.cost_class for row in rest})
        },
        unrecorded=unrecorded,
        window_ns=timeline.duration_ns,
        cpus=tuple(timeline.summary["cpus"]),
        recorded_share=timeline.recorded,
        owned_share=timeline.owned,
        notes=(*timeline.notes, *note_of(timeline)),
        during=timeline.window.during,
    )


def _thieves(names: Any) -> "pd.Index[str]":
    import pandas as pd

    index: pd.Index[str] = pd.Index(list(names), name="thief")
    return index


def _share(ns: "pd.DataFrame", on_cpu_ns: "pd.Series[int]") -> "pd.DataFrame":
    whole = on_cpu_ns.astype("Float64").astype("float64")
    return ns.div(whole.where(whole > 0), axis=0)


def _groups(count: int, most: int) -> list[list[int]]:
    # A single other has a place of its own.
    kept = count if count <= most + 1 else most
    rest = list(range(kept, count))
    return [[place] for place in range(kept)] + ([rest] if rest else [])
