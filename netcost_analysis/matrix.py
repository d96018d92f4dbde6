"""Who lost CPU time to what: the matrix of victims and thieves."""

from dataclasses import dataclass

import pandas as pd

from .by import By, check_by, victim_keys
from .missed.unrecorded import note_of, prepare, unrecorded_ns
from .tables import ledger_html, ledger_text
from .tally import INTERRUPT_CONTEXTS, known_if, of_tasks, per_victim, per_victim_and, tally
from .timeline import Timeline

_NOT_RECORDED = ", not recorded"


@dataclass(frozen=True)
class Ledger:
    """The victim x thief matrix of one timeline.

    by: what victims are told apart by. ns: int64, a row per victim (falling by what it lost), a
    column per thief (falling by what it took): time the thief ran on top of the victim in cost
    class stolen. max_ns: the same with stolen_or_synchronous added, time that may have been the
    victim's own, and, last, a column "NET_RX, not recorded" for each softirq vector and interrupt
    of which the kernel counted some that no event shows; the truth lies between. on_cpu_ns: Int64
    per victim, its time on CPU whoever used it, NA where sched_switch was not recorded. task_ns:
    Int64, the part in which it ran itself. elsewhere: int64, a row per other cost class (from_idle,
    scheduled, synchronous), a column per thief. window_ns, cpus, recorded_share, owned_share (of
    the CPUs' window what was recorded without loss, and of that what has a known owner), notes: of
    the timeline.
    """

    by: By
    ns: pd.DataFrame
    max_ns: pd.DataFrame
    on_cpu_ns: "pd.Series[int]"
    task_ns: "pd.Series[int]"
    elsewhere: pd.DataFrame
    window_ns: int
    cpus: tuple[int, ...]
    recorded_share: float | None
    owned_share: float | None
    notes: tuple[str, ...]

    @property
    def task_min_ns(self) -> "pd.Series[int]":
        """task_ns without what of it may have been in the columns "..., not recorded"."""
        unseen = [name for name in self.max_ns if str(name).endswith(_NOT_RECORDED)]
        return self.task_ns - self.max_ns[unseen].sum(axis=1)

    @property
    def share(self) -> pd.DataFrame:
        """ns as a share of the victim's time on CPU, 0 to 1; NaN where that is unknown."""
        return _share(self.ns, self.on_cpu_ns)

    @property
    def max_share(self) -> pd.DataFrame:
        """max_ns as a share of the victim's time on CPU."""
        return _share(self.max_ns, self.on_cpu_ns)

    def __repr__(self) -> str:
        return ledger_text(self)

    def _repr_html_(self) -> str:
        return ledger_html(self)


def _share(ns: pd.DataFrame, on_cpu_ns: "pd.Series[int]") -> pd.DataFrame:
    whole = on_cpu_ns.astype("Float64").astype("float64")
    return ns.div(whole.where(whole > 0), axis=0)


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
    rows = tally(timeline.sums(), by)
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

    missing = unrecorded_ns(timeline, rows, keys).ns.reindex(index, fill_value=0)
    missing = missing.loc[:, missing.sum() > 0].add_suffix(_NOT_RECORDED)
    maximum = per_victim_and("thief", loss, keys, index).join(missing)
    maximum.columns.name = "thief"
    others = interrupts[~interrupts["cost_class"].isin(["stolen", "stolen_or_synchronous"])]
    own = tasks[tasks["context"] == "task"]
    known = timeline.has_switches
    return Ledger(
        by=by,
        ns=per_victim_and("thief", stolen, keys, index).reindex(
            columns=maximum.columns, fill_value=0
        ),
        max_ns=maximum,
        on_cpu_ns=known_if(known, per_victim(tasks, keys, index)),
        task_ns=known_if(known, per_victim(own, keys, index)),
        elsewhere=per_victim_and("thief", others, ["cost_class"], _classes(others)),
        window_ns=timeline.duration_ns,
        cpus=tuple(timeline.summary["cpus"]),
        recorded_share=timeline.recorded,
        owned_share=timeline.owned,
        notes=(*timeline.notes, *note_of(timeline)),
    )


def _classes(rows: pd.DataFrame) -> "pd.Index[str]":
    return pd.Index(sorted(map(str, rows["cost_class"].unique())), name="cost_class")
