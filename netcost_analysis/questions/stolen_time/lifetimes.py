"""How long each victim was there, and where all of that time went."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...errors import ArgumentError
from ...timeline.aggregate import of_tasks, per_victim
from ...timeline.by import By, check_by, victim_keys
from ...timeline.task import comm_of
from ...timeline.timeline import Timeline
from ..losses import stolen
from ..question import question
from .settling import COLUMNS, of_its_own
from .stays import everywhere

if TYPE_CHECKING:
    from ..answer import Answer

# What a life is made of, but for what is unknown.
KNOWN = (
    *("own_ns", "stolen_unrecorded_ns", "stolen_ns", "stolen_or_synchronous_ns"),
    *("synchronous_ns", "scheduled_ns", "displaced_ns", "waited_others_ns", "asleep_ns"),
)
NAMES = {
    "own_ns": "ran itself",
    "stolen_unrecorded_ns": "ran itself or stolen, not recorded",
    "stolen_ns": "stolen",
    "stolen_or_synchronous_ns": "stolen or its own traffic",
    "synchronous_ns": "its own traffic",
    "scheduled_ns": "scheduled work of kernel threads",
    "displaced_ns": "waited for network work",
    "waited_others_ns": "waited for others",
    "asleep_ns": "asleep",
    "unknown_ns": "unknown",
}
_TAKEN = ("stolen_ns", "stolen_or_synchronous_ns", "synchronous_ns", "scheduled_ns")


@question(
    needs=("sched:sched_switch",),
    inputs=("slices",),
    main_columns=(
        *("comm", "tasks", "lifetime_ns", "own_ns", "stolen_ns", "displaced_ns"),
        *("waited_others_ns", "asleep_ns"),
    ),
    rows=5,
)
def lifetimes(timeline: Timeline, by: By = "comm") -> pd.DataFrame:
    """How long each victim lived within the window, and what it did with that time.

    Parameters
    ----------
    timeline : Timeline
        What is asked; the answer is of all recorded CPUs, whatever it chose.
    by : {"comm", "tid"}
        What tells victims apart; "device" is as "comm".

    Returns
    -------
    DataFrame
        A row per victim that had a CPU, indexed and ordered as stolen() is; all int64, ns but
        tasks. tasks: how many had the name; figures are sums over them. lifetime_ns,
        lifetime_max_ns: the window, cut where a task was seen to begin and to end; two values where
        something that may have been its begin or end was not recorded. absent_ns: the rest of the
        window, tasks times. The others add up to lifetime_max_ns: own_ns, stolen_unrecorded_ns
        (what it ran itself, or interrupts took that no event shows), stolen_ns,
        stolen_or_synchronous_ns, synchronous_ns, scheduled_ns; displaced_ns and waited_others_ns:
        it waited, runnable, while scheduled network work had its CPU, and for all others;
        asleep_ns; unknown_ns.

    Raises
    ------
    ArgumentError
        For another by: a CPU has no life.
    MissingEventsError
        Without sched_switch.

    Notes
    -----
    Source: the sums, slices and displaced, events of tasks that begin and end, what the bundle says
    of its victim. What a task is shown on two CPUs at once is once in own_ns.
    """
    check_by(by)
    if by == "cpu":
        raise ArgumentError("by='cpu': a CPU has no life; one of comm, tid")
    whole, keys = everywhere(timeline), victim_keys(by)
    rows = of_tasks(whole.tally(by))
    return closed(stolen(whole, by), rows, whole.lives, keys, whole.duration_ns)


def closed(
    losses: pd.DataFrame,
    rows: pd.DataFrame,
    lives: pd.DataFrame,
    keys: list[str],
    window_ns: int,
) -> pd.DataFrame:
    # lifetimes() on what stolen(), tally() and Timeline.lives return.
    lived = lives.groupby(keys)[list(COLUMNS)].sum()
    index = losses.index[losses.index.isin(lived.index)]
    lived, losses = lived.reindex(index), losses.loc[index]
    frame = lived[["tasks", "lifetime_ns", "lifetime_max_ns"]].copy()
    frame["absent_ns"] = frame["tasks"] * window_ns - lived["lifetime_max_ns"]
    ran = per_victim(rows[of_its_own(rows)], keys, index) - lived["twice_ns"]
    frame["stolen_unrecorded_ns"] = losses["stolen_unrecorded_ns"].clip(upper=ran)
    frame["own_ns"] = ran - frame["stolen_unrecorded_ns"]
    for name in _TAKEN:
        frame[name] = losses[name]
    # Where the CPUs' clocks disagree neither it nor any other wait is known.
    frame["displaced_ns"] = losses["displaced_ns"].fillna(0)
    frame["waited_others_ns"] = (lived["waited_ns"] - frame["displaced_ns"]).clip(lower=0)
    frame["asleep_ns"] = lived["asleep_ns"]
    frame["unknown_ns"] = frame["lifetime_max_ns"] - frame[list(KNOWN)].sum(axis=1)
    return frame.astype("int64")


def parts_of_life(row: "pd.Series[int]") -> pd.DataFrame:
    # A victim's life as a partition: columns part (in words), ns, share (of lifetime_max_ns).
    # row: of lifetimes(). Parts that did not occur are left out; shares add up to 1.
    parts = row[list(NAMES)]
    parts = parts[parts > 0]
    whole = float(row["lifetime_max_ns"])
    names = [NAMES[str(name)] for name in parts.index]
    return pd.DataFrame({"part": names, "ns": parts.to_numpy(), "share": parts.to_numpy() / whole})


@lifetimes.figures
def _of_the_victim(answer: "Answer[pd.DataFrame]") -> dict[str, Any]:
    # row: the timeline's victim's, None where it is not known, or not asked for by name.
    timeline, lived = answer.timeline, answer.frame
    victim = comm_of(timeline, timeline.victim)
    if lived.index.names != ["comm"] or victim not in lived.index:
        return {"row": None}
    row = lived.loc[[str(victim)]].iloc[0]
    parts = parts_of_life(row)
    return {
        "victim": victim,
        "row": row.to_dict(),
        "window_ns": timeline.duration_ns,
        "parts": list(zip(parts["part"], parts["share"], strict=True)),
    }
