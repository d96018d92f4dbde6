"""Who lost CPU time to what: the matrix of victims and thieves."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from ..display.tables import label, ledger_html, ledger_text, plain_key
from ..timeline.aggregate import INTERRUPT_CONTEXTS, known_if, of_tasks, per_victim, per_victim_and
from ..timeline.by import By, check_by, victim_keys
from ..timeline.timeline import Timeline
from .completeness.unrecorded import note_of, prepare, unrecorded_ns
from .question import question


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

    victims: tuple[Any, ...]
    on_cpu_ns: int | None
    task: Cell | None
    thieves: list[Cell]
    stolen: Cell

    @property
    def name(self) -> str:
        """Who, in words."""
        if len(self.victims) > 1:
            return f"{len(self.victims)} others"
        return label(plain_key(self.victims[0]))


class Gathered(NamedTuple):
    """A ledger as a table of a page's size: the thieves' names, and a column for each victim."""

    thieves: list[str]
    columns: list[Column]


@dataclass(frozen=True)
class Ledger:
    """The victim x thief matrix of one timeline.

    by: what victims are told apart by. ns: int64, a row per victim (falling by what it lost), a
    column per thief (falling by what it took): time the thief ran on top of the victim in cost
    class stolen. max_ns: the same with stolen_or_synchronous added, time that may have been the
    victim's own, and, last, a column "NET_RX, not recorded" for each softirq vector and interrupt
    of which the kernel counted some that no event shows; the truth lies between. on_cpu_ns: Int64
    per victim, its time on CPU whoever used it, NA where sched_switch was not recorded. task_ns:
    Int64, the part in which it ran itself, and task_min_ns what of it surely was its own, without
    the columns "..., not recorded". elsewhere: int64, a row per other cost class (from_idle,
    scheduled, synchronous), a column per thief. window_ns, cpus, recorded_share, owned_share (of
    the CPUs' window what was recorded without loss, and of that what has a known owner), notes: of
    the timeline.
    """

    by: By
    ns: pd.DataFrame
    max_ns: pd.DataFrame
    on_cpu_ns: "pd.Series[int]"
    task_min_ns: "pd.Series[int]"
    task_ns: "pd.Series[int]"
    elsewhere: pd.DataFrame
    window_ns: int
    cpus: tuple[int, ...]
    recorded_share: float | None
    owned_share: float | None
    notes: tuple[str, ...]

    @property
    def stolen_ns(self) -> "pd.Series[int]":
        """What each victim lost in all."""
        return self.ns.sum(axis=1)

    @property
    def stolen_max_ns(self) -> "pd.Series[int]":
        """The same with what may have been its own."""
        return self.max_ns.sum(axis=1)

    @property
    def elsewhere_ns(self) -> "pd.Series[int]":
        """What was stolen from no task, by cost class."""
        return self.elsewhere.sum(axis=1)

    @property
    def share(self) -> pd.DataFrame:
        """ns as a share of the victim's time on CPU, 0 to 1; NaN where that is unknown."""
        return _share(self.ns, self.on_cpu_ns)

    @property
    def max_share(self) -> pd.DataFrame:
        """max_ns as a share of the victim's time on CPU."""
        return _share(self.max_ns, self.on_cpu_ns)

    def gathered(self, victims: int, thieves: int | None = None) -> "Gathered":
        """The first so many victims and thieves (None: all); the others in one more, one as is."""
        many = len(self.max_ns.columns)
        groups = _groups(len(self.max_ns), victims)
        kinds = _groups(many, many if thieves is None else thieves)
        names = [str(self.max_ns.columns[one[0]]) if len(one) == 1 else f"{len(one)} others"
                 for one in kinds]  # fmt: skip
        own = [ns.to_numpy(object) for ns in (self.on_cpu_ns, self.task_min_ns, self.task_ns)]
        lows, highs = self.ns.to_numpy(), self.max_ns.to_numpy()
        columns = []
        for group in groups:
            low, high = (
                [int(ns[one].sum()) for one in kinds]
                for ns in (lows[group].sum(axis=0), highs[group].sum(axis=0))
            )
            whole, least, most = (_known(ns[group].sum()) for ns in own)
            columns.append(
                Column(
                    tuple(self.max_ns.index[group]),
                    whole,
                    None if least is None or most is None else Cell.of(whole, least, most),
                    [Cell.of(whole, *ends) for ends in zip(low, high, strict=True)],
                    Cell.of(whole, sum(low), sum(high)),
                )
            )
        return Gathered(names, columns)

    def __repr__(self) -> str:
        return ledger_text(self)

    def _repr_html_(self) -> str:
        return ledger_html(self)


def _share(ns: pd.DataFrame, on_cpu_ns: "pd.Series[int]") -> pd.DataFrame:
    whole = on_cpu_ns.astype("Float64").astype("float64")
    return ns.div(whole.where(whole > 0), axis=0)


@question(topic="stolen_time")
def ledger(timeline: Timeline, by: By = "comm") -> Ledger:
    """The victim x thief matrix of a timeline.

    by: "comm" (victims by command), "tid" (by task), "cpu" (all tasks of a CPU), "device" (victims
    by command, and everything a device did gathered in one thief). Raises ValueError for another
    by, CaptureError as the timeline does. Source: the timeline's sums, that is its segments summed
    by owner; idle time is nobody's, so the idle task is no victim and what ran on top of it is in
    elsewhere as from_idle.
    """
    check_by(by)
    prepare(timeline)
    rows = timeline.tally(by)
    keys = victim_keys(by)
    interrupts = rows[rows["context"].isin(INTERRUPT_CONTEXTS)]
    stolen = interrupts[interrupts["cost_class"] == "stolen"]
    doubtful = interrupts[interrupts["cost_class"] == "stolen_or_synchronous"]
    tasks = of_tasks(rows)
    loss = pd.concat([stolen, doubtful])
    everyone = pd.concat([tasks, loss])[keys].drop_duplicates().set_index(keys).index
    order = pd.DataFrame(
        {"loss": per_victim(loss, keys, everyone), "on_cpu": per_victim(tasks, keys, everyone)}
    )
    index = order.sort_values(["loss", "on_cpu"], ascending=False, kind="stable").index

    unrecorded = unrecorded_ns(timeline, by)
    missing = unrecorded.ns.reindex(index, fill_value=0)
    missing = missing.loc[:, missing.sum() > 0].add_suffix(", not recorded")
    maximum = per_victim_and("thief", loss, keys, index).join(missing)
    maximum.columns.name = "thief"
    others = interrupts[~interrupts["cost_class"].isin(["stolen", "stolen_or_synchronous"])]
    known = timeline.has_switches
    own = known_if(known, per_victim(tasks[tasks["context"] == "task"], keys, index))
    return Ledger(
        by=by,
        ns=per_victim_and("thief", stolen, keys, index).reindex(
            columns=maximum.columns, fill_value=0
        ),
        max_ns=maximum,
        on_cpu_ns=known_if(known, per_victim(tasks, keys, index)),
        task_min_ns=unrecorded.least(own),
        task_ns=own,
        elsewhere=per_victim_and("thief", others, ["cost_class"], _classes(others)),
        window_ns=timeline.duration_ns,
        cpus=tuple(timeline.summary["cpus"]),
        recorded_share=timeline.recorded,
        owned_share=timeline.owned,
        notes=(*timeline.notes, *note_of(timeline)),
    )


def _classes(rows: pd.DataFrame) -> "pd.Index[str]":
    return pd.Index(sorted(map(str, rows["cost_class"].unique())), name="cost_class")


def _groups(count: int, most: int) -> list[list[int]]:
    # A single other has a place of its own.
    kept = count if count <= most + 1 else most
    rest = list(range(kept, count))
    return [[place] for place in range(kept)] + ([rest] if rest else [])


def _known(ns: Any) -> int | None:
    return None if pd.isna(ns) else int(ns)
