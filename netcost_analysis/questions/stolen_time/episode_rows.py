# Which segments make up an episode, and what there is to say of each. Pure functions of frames,
# sorted by CPU and time.

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...timeline.aggregate import INTERRUPT_CONTEXTS, thief_labels
from ...timeline.kinds import KIND_COLUMNS, kinds_of
from ...timeline.task import Task, rows_of

_STOLEN = ("stolen", "stolen_or_synchronous")
Mask = npt.NDArray[np.bool_]


def mark(segments: pd.DataFrame, softirqs: pd.DataFrame, gap_ns: int) -> npt.NDArray[np.int64]:
    # The number of the episode that each segment belongs to, -1 for none; rising along the rows.
    taken = _taken(segments)
    inside = taken | _bridges(segments, softirqs, taken, gap_ns)
    follows = inside & _shifted(inside) & _same_task(segments)
    number = np.cumsum(inside & ~follows) - 1
    return np.where(inside, number, -1)


def _taken(segments: pd.DataFrame) -> Mask:
    tasks = (segments["tid"].notna() & (segments["tid"] != 0)).fillna(False)
    inside = segments["context"].isin(INTERRUPT_CONTEXTS) & segments["cost_class"].isin(_STOLEN)
    return (tasks.astype(bool) & inside).to_numpy()


def _shifted(mask: Mask) -> Mask:
    # The row before.
    return np.concatenate([[False], mask[:-1]]) if len(mask) else mask


def _same_task(segments: pd.DataFrame) -> Mask:
    # As the row before: the same task on the same CPU, without time in between.
    tid = segments["tid"].astype("float64").to_numpy()
    cpu, start, end = (segments[name].to_numpy() for name in ("cpu", "start_ns", "end_ns"))
    same = np.zeros(len(segments), dtype=bool)
    same[1:] = (cpu[1:] == cpu[:-1]) & (tid[1:] == tid[:-1]) & (start[1:] == end[:-1])
    return same


def _short(segments: pd.DataFrame, gap_ns: int) -> Mask:
    own = (segments["context"] == "task").to_numpy()
    return own & ((segments["end_ns"] - segments["start_ns"]).to_numpy() <= gap_ns)


def _bridges(segments: pd.DataFrame, softirqs: pd.DataFrame, taken: Mask, gap_ns: int) -> Mask:
    # The task's own, between two that are taken, with the softirq that follows pending already.
    same = _same_task(segments)
    after = np.concatenate([(taken & same)[1:], [False]]) if len(segments) else taken
    bridge = _short(segments, gap_ns) & _shifted(taken) & same & after
    places = np.flatnonzero(bridge)
    gaps = segments.iloc[places][["cpu", "start_ns", "end_ns"]].astype("int64")
    entries = softirqs[softirqs["entry_ns"].notna()][["cpu", "entry_ns", "raise_ns"]]
    entries = entries.drop_duplicates(["cpu", "entry_ns"]).astype(
        {"entry_ns": "int64", "cpu": "int64"}
    )
    found = gaps.merge(entries, "left", left_on=["cpu", "end_ns"], right_on=["cpu", "entry_ns"])
    raised = found["raise_ns"].astype("Int64")
    pending = found["entry_ns"].notna() & (raised <= found["start_ns"]).fillna(True)
    bridge[places] = pending.astype(bool).to_numpy()
    return bridge


def latest(
    segments: pd.DataFrame, numbers: npt.NDArray[np.int64], gap_ns: int
) -> "pd.Series[bool]":
    # Which rows may go on in a later window: of each CPU its last episode where that lies at the
    # end, and always the last segment, with the one before it for what ran before.
    cpu = segments["cpu"].to_numpy()
    open_ = (numbers >= 0) | _short(segments, gap_ns)
    final = np.ones(len(cpu), dtype=bool)
    final[:-1] = cpu[1:] != cpu[:-1]
    # From the end backwards: as long as rows are open.
    closed = pd.Series(np.where(open_ | final, 0, 1))[::-1]
    rest = closed.groupby(cpu[::-1]).cumsum()[::-1].to_numpy() == 0
    # The row before the first of them, too.
    rest |= np.concatenate([rest[1:] & (cpu[1:] == cpu[:-1]), [False]]) if len(cpu) else rest
    # Not half of an episode that ended.
    of_rest = np.isin(numbers, numbers[rest & (numbers >= 0)])
    return pd.Series(rest | of_rest, index=segments.index)


def describe(
    segments: pd.DataFrame,
    numbers: npt.NDArray[np.int64],
    polls: pd.DataFrame,
    victim: Task | None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    # A row per episode, numbered from 0, and a row per episode and thief.
    inside = numbers >= 0
    rows = segments[inside].assign(episode=numbers[inside])
    rows["before"] = _before(segments)[inside]
    rows["cut"] = _at_edge(segments)[inside]
    rows = rows_of(rows, victim)
    rows["episode"] = pd.factorize(rows["episode"])[0]
    rows["ns"] = rows["end_ns"] - rows["start_ns"]
    rows["taken"] = rows["context"] != "task"
    stolen = rows[rows["taken"]].assign(thief=lambda some: thief_labels(some))
    group = rows.groupby("episode")
    frame = group[["cpu", "tid", "comm", "start_ns"]].first()
    frame["comm"] = frame["comm"].astype(object)
    frame["end_ns"] = group["end_ns"].last()
    frame["wall_ns"] = frame["end_ns"] - frame["start_ns"]
    by_class = stolen.groupby(["episode", stolen["cost_class"].astype(object)])["ns"].sum()
    frame["stolen_max_ns"] = stolen.groupby("episode")["ns"].sum()
    frame["stolen_ns"] = by_class.reindex(
        pd.MultiIndex.from_product([frame.index, ["stolen"]]), fill_value=0
    ).to_numpy()
    kinds = kinds_of(stolen)
    for kind, name in KIND_COLUMNS.items():
        of_kind = stolen[kinds == kind].groupby("episode")["ns"].sum()
        frame[name] = of_kind.reindex(frame.index, fill_value=0)
    frame["polls"], frame["packets"] = _polled(frame, polls)
    frame["began_with"] = stolen.groupby("episode")["thief"].first()
    frame["ran_before_ns"] = group["before"].first()
    frame["cut"] = group["cut"].any()
    parts = stolen.groupby(["episode", "thief"])["ns"].sum().reset_index()
    integers = [name for name in map(str, frame.columns) if name.endswith("_ns")]
    return frame.astype(dict.fromkeys(integers, "int64")), parts


def _before(segments: pd.DataFrame) -> npt.NDArray[np.int64]:
    # The task's own time right before each segment.
    length = (segments["end_ns"] - segments["start_ns"]).to_numpy()
    own = _shifted((segments["context"] == "task").to_numpy()) & _same_task(segments)
    before = np.zeros(len(segments), dtype="int64")
    before[1:] = length[:-1]
    return np.where(own, before, 0)


def _at_edge(segments: pd.DataFrame) -> Mask:
    # Beside unknown time, or where a CPU's segments begin or end: it may have been longer.
    unknown = (segments["context"] == "unknown").to_numpy()
    cpu, start, end = (segments[name].to_numpy() for name in ("cpu", "start_ns", "end_ns"))
    away = np.ones(len(cpu), dtype=bool)
    away[1:] = (cpu[1:] != cpu[:-1]) | (start[1:] != end[:-1])
    last = np.concatenate([away[1:], [True]]) if len(cpu) else away
    following = np.concatenate([unknown[1:], [False]]) if len(cpu) else unknown
    edge: Mask = away | last | _shifted(unknown) | following
    return edge


def _polled(frame: pd.DataFrame, polls: pd.DataFrame) -> "tuple[pd.Series[int], pd.Series[int]]":
    # Polls that ended in each episode, and their packets: NA where work was not recorded.
    ended = polls[["cpu", "end_ns", "work"]].sort_values("end_ns", kind="stable")
    spans = frame[["cpu", "start_ns", "end_ns"]].rename(columns={"end_ns": "until_ns"})
    spans = spans.astype("int64").reset_index().sort_values("start_ns", kind="stable")
    found = pd.merge_asof(
        ended.astype({"cpu": "int64", "end_ns": "int64"}),
        spans,
        left_on="end_ns",
        right_on="start_ns",
        by="cpu",
        allow_exact_matches=False,
    )
    found = found[found["end_ns"] <= found["until_ns"]]
    group = found.groupby("episode")["work"]
    count = group.size().reindex(frame.index, fill_value=0).astype("int64")
    packets = group.sum(min_count=1).reindex(frame.index).astype("Int64")
    unknown = (
        found[found["work"].isna()].groupby("episode").size().reindex(frame.index, fill_value=0)
    )
    packets = packets.where(count > 0, 0).mask(unknown > 0)
    return count, packets
