# Lives under each name of a task, as the sums have its time on CPU: a stay has one name, its last,
# and the sums have what its task had of it under others.

import pandas as pd

from ...spans import Ints

COLUMNS = (
    *("lifetime_ns", "lifetime_max_ns", "on_cpu_ns", "waited_ns", "asleep_ns", "unseen_ns"),
    *("twice_ns", "tasks"),
)
# What a task had under any name: its longest life, and what of it was within or between losses.
POOLED = ("whole_ns", "lost_ns")
ENDS = ("begun_ns", "done_ns")
_KEYS = ["tid", "comm"]


def of_its_own(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Which rows of tally() are what a task ran itself, but for network work that it is for."""
    return (rows["context"] == "task") & (rows["cost_class"] != "scheduled")


def of_several_names(stays: pd.DataFrame, rows: pd.DataFrame, window: tuple[int, int]) -> Ints:
    """Tasks' numbers of which a stay has more than one name. rows: of tally() by tid."""
    begins, ends = (stays[name].clip(*window) for name in ("in_ns", "out_ns"))
    of_stays = (ends - begins).groupby([stays[key] for key in _KEYS]).sum()
    other = rows.groupby(_KEYS)["ns"].sum().sub(of_stays, fill_value=0)
    found: Ints = other[other != 0].index.get_level_values("tid").unique().to_numpy("int64")
    return found


def settled(lives: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The lives of lives_from() by tid and comm, of COLUMNS and ENDS. rows: of tally() by tid."""
    lives = lives.set_index(_KEYS)
    ends = lives[list(ENDS)].astype("Int64")
    on_cpu = rows.groupby(_KEYS)["ns"].sum()
    own = rows[of_its_own(rows)].groupby(_KEYS)["ns"].sum()
    lives = lives.reindex(lives.index.union(on_cpu.index), fill_value=0)
    other = on_cpu.reindex(lives.index, fill_value=0) - lives["on_cpu_ns"]
    lives["on_cpu_ns"] += other
    # Before its first event on a CPU a task is said to have run itself.
    lives["twice_ns"] = lives["twice_ns"].clip(upper=own.reindex(lives.index, fill_value=0))
    for name in ("lifetime_ns", "lifetime_max_ns"):
        lives[name] += _between_names(other) - lives["twice_ns"]
    _held(lives)
    _pooled(lives)
    # A name that a task had for a part of a stay only.
    lives["tasks"] = lives["tasks"].clip(lower=1)
    return lives[list(COLUMNS)].join(ends).reset_index()


def _between_names(other: "pd.Series[int]") -> "pd.Series[int]":
    # What of a task's time on CPU goes from one of its names to another. Where events contradict
    # each other the sums can have more of a task, or less, than its stays: its life is as long.
    left = other.groupby("tid").transform("sum")
    most = other.abs().groupby("tid").transform("idxmax").to_numpy() == other.index.to_numpy()
    return other - left.where(most, 0)


def _held(lives: pd.DataFrame) -> None:
    # No life is shorter than its parts.
    ran = lives["on_cpu_ns"] - lives["twice_ns"]
    for name in ("asleep_ns", "waited_ns"):
        much = ran + lives["asleep_ns"] + lives["waited_ns"] - lives["lifetime_max_ns"]
        lives[name] -= much.clip(lower=0).clip(upper=lives[name])
    for name in ("lifetime_ns", "lifetime_max_ns"):
        lives[name] = lives[name].clip(lower=ran)


def _pooled(lives: pd.DataFrame) -> None:
    # Where something of a task was lost that had several names, it may have had any of them at any
    # time at which it is not known under which it was.
    of_task = lives.groupby("tid")
    several = (of_task["tasks"].transform("size") > 1) & (of_task["lost_ns"].transform("sum") > 0)
    free = of_task["whole_ns"].transform("sum") - of_task["lifetime_ns"].transform("sum")
    longest = lives["lifetime_ns"] + free.clip(lower=0)
    lives["lifetime_max_ns"] = longest.where(several, lives["lifetime_max_ns"])
    unseen = of_task["unseen_ns"].transform("sum")
    lives["unseen_ns"] = unseen.where(several, lives["unseen_ns"])
