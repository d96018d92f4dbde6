# Which segments make up an episode, and what there is to say of each. Pure functions of frames,
# sorted by CPU and time.

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...spans import columns, spans_of
from ...stats.grouped import is_any
from ...timeline.aggregate import INTERRUPT_CONTEXTS, thief_labels
from ...timeline.kinds import KIND_COLUMNS, kinds_of
from ...timeline.task import Task, rows_of
from ..batches.common import in_order

_STOLEN = ("stolen", "stolen_or_synchronous")
# A softirq comes when it is over; where none comes, so many segments later none is waited for.
_REACH = 4_096
# For a time or a task that is not known.
_NEVER = -(2**63)
Mask = npt.NDArray[np.bool_]


class Marked(NamedTuple):
    # number: of the episode that each segment belongs to, -1 for none; rising along the rows.
    # doubted: the task's own time that is one if the softirq which follows had been raised before
    # it, and is not known yet.
    number: npt.NDArray[np.int64]
    doubted: Mask


def mark(segments: pd.DataFrame, softirqs: pd.DataFrame, gap_ns: int) -> Marked:
    # softirqs: those that entered before the segments ended, as far as they are over.
    taken = _taken(segments)
    bridges, doubted = _bridges(segments, softirqs, taken, gap_ns)
    inside = taken | bridges
    follows = inside & _shifted(inside) & _same_task(segments)
    number = np.cumsum(inside & ~follows) - 1
    return Marked(np.where(inside, number, -1), doubted)


def of_interest(segments: pd.DataFrame) -> Mask:
    # Rows that an episode has, or that tell of one: those beside a taken one; of a batch also the
    # first and the last of each CPU, which may stand beside one of the next.
    cpu = segments["cpu"].to_numpy()
    first = np.append(True, cpu[1:] != cpu[:-1])[: len(cpu)]
    last = np.append(first[1:], True)[: len(cpu)]
    interest: Mask = beside(_taken(segments)) | first | last
    return interest


def _taken(segments: pd.DataFrame) -> Mask:
    taken: Mask = is_any(segments["cost_class"], _STOLEN)
    some = segments[["context", "tid"]].take(np.flatnonzero(taken))
    tid = _tids(some)
    taken[taken] = (tid != 0) & (tid != _NEVER) & is_any(some["context"], INTERRUPT_CONTEXTS)
    return taken


def _tids(segments: pd.DataFrame) -> npt.NDArray[np.int64]:
    tid: npt.NDArray[np.int64] = np.asarray(
        segments["tid"].astype("Int64").to_numpy("int64", na_value=_NEVER)
    )
    return tid


def _shifted(mask: Mask) -> Mask:
    # The row before.
    return np.concatenate([[False], mask[:-1]]) if len(mask) else mask


def beside(mask: Mask) -> Mask:
    # Rows of which it is true, and those before and after them.
    after = np.concatenate([mask[1:], [False]]) if len(mask) else mask
    near: Mask = mask | _shifted(mask) | after
    return near


def _same_task(segments: pd.DataFrame) -> Mask:
    # As the row before: the same task on the same CPU, without time in between.
    tid = _tids(segments)
    cpu, start, end = (segments[name].to_numpy() for name in ("cpu", "start_ns", "end_ns"))
    same: Mask = np.zeros(len(segments), dtype=bool)
    same[1:] = (cpu[1:] == cpu[:-1]) & (tid[1:] == tid[:-1]) & (start[1:] == end[:-1])
    same &= tid != _NEVER
    return same


def _short(segments: pd.DataFrame, gap_ns: int) -> Mask:
    own = is_any(segments["context"], ("task",))
    return own & ((segments["end_ns"] - segments["start_ns"]).to_numpy() <= gap_ns)


def _bridges(
    segments: pd.DataFrame, softirqs: pd.DataFrame, taken: Mask, gap_ns: int
) -> tuple[Mask, Mask]:
    # The task's own, between two that are taken, with the softirq that follows pending already; and
    # those of which that is not known yet.
    same = _same_task(segments)
    after = np.concatenate([(taken & same)[1:], [False]]) if len(segments) else taken
    bridge = _short(segments, gap_ns) & _shifted(taken) & same & after
    doubted = np.zeros(len(segments), dtype=bool)
    places = np.flatnonzero(bridge)
    if not len(places):
        return bridge, doubted
    cpu, start, end = columns(segments, "cpu", "start_ns", "end_ns")
    entered = softirqs[softirqs["entry_ns"].notna().to_numpy()]
    entries = entered["entry_ns"].to_numpy("int64")
    # A raise that is not known may have been before it.
    raised = entered["raise_ns"].astype("Int64").to_numpy("int64", na_value=_NEVER)
    of_cpu = entered["cpu"].to_numpy("int64")
    ends = np.flatnonzero(np.append(cpu[1:] != cpu[:-1], True)) if len(cpu) else places
    for last in ends.tolist():
        own = places[slice(*np.searchsorted(places, [_first(cpu, last), last + 1]))]
        here = np.flatnonzero(of_cpu == cpu[last])
        here = here[np.argsort(entries[here], kind="stable")]
        times, at = entries[here], np.searchsorted(entries[here], end[own])
        # The first of those that entered at one time.
        found = at < len(here)
        found[found] = times[at[found]] == end[own][found]
        found[found] = raised[here[at[found]]] <= start[own][found]
        bridge[own] = found
        # Softirqs come in the order of their entries: with a later one there, it was none.
        latest = times[-1] if len(times) else _NEVER
        doubted[own] = (end[own] > latest) & (last - own < _REACH)
    return bridge, doubted


def _first(cpu: npt.NDArray[np.int64], last: int) -> int:
    # The place of the first row of a CPU; rows are by CPU.
    return int(np.searchsorted(cpu, cpu[last]))


def unfinished(segments: pd.DataFrame, marked: Marked) -> Mask:
    # Which rows may go on in a later batch: of each CPU its last segment, and from the first that
    # is doubted on all; with what of an episode is before them, and the row before that, for what
    # ran before. Never half of an episode.
    cpu = segments["cpu"].to_numpy()
    rest = np.zeros(len(cpu), dtype=bool)
    outside = np.flatnonzero((marked.number < 0) & ~marked.doubted)
    doubted = np.flatnonzero(marked.doubted)
    begins = np.flatnonzero(np.append(True, cpu[1:] != cpu[:-1])) if len(cpu) else ()
    for begin, end in pairwise([*begins, len(cpu)]):
        first = np.searchsorted(doubted, begin)
        open_ = min(end - 1, doubted[first] if first < len(doubted) else end)
        before = np.searchsorted(outside, open_) - 1
        since = outside[before] if before >= 0 else begin
        rest[max(begin, since) : end] = True
    return rest


def longest(
    segments: pd.DataFrame,
    number: npt.NDArray[np.int64],
    victim: Task | None,
    most: int,
    after: tuple[int, int] | None = None,
) -> tuple[int, npt.NDArray[np.int64]]:
    # How many episodes a victim has, and the numbers of the longest of them: most alone are told.
    # after: ns and CPU of an earlier one, behind which none is told; equals are in order of CPUs.
    inside = number >= 0
    rows = segments.loc[inside, ["cpu", "tid", "comm", "start_ns", "end_ns"]]
    rows = rows.assign(of=number[inside])
    rows = rows_of(rows, victim)
    of = rows["of"].to_numpy()
    begins = np.flatnonzero(np.append(True, of[1:] != of[:-1])) if len(of) else of
    ends = np.append(begins[1:], len(of)) - 1 if len(of) else of
    wall = rows["end_ns"].to_numpy()[ends] - rows["start_ns"].to_numpy()[begins]
    # Rows are by CPU and time, and so are equals.
    order = np.argsort(-wall, kind="stable")[:most]
    if after is not None:
        cpu = rows["cpu"].to_numpy()[begins][order]
        wall = wall[order]
        order = order[(wall > after[0]) | ((wall == after[0]) & (cpu < after[1]))]
    return len(begins), of[begins][order]


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
    own = _shifted(is_any(segments["context"], ("task",))) & _same_task(segments)
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
    episodes = in_order(frame[["cpu", "start_ns", "end_ns"]].reset_index(), "cpu", "start_ns")
    ended = polls["end_ns"].to_numpy("int64")
    # What ends as an episode begins is none of its.
    place = spans_of(episodes, group="cpu").last_begun(polls["cpu"].to_numpy("int64"), ended - 1)
    inside = place >= 0
    inside[inside] = ended[inside] <= episodes["end_ns"].to_numpy("int64")[place[inside]]
    found = polls.loc[inside, ["work"]].assign(
        episode=episodes["episode"].to_numpy()[place[inside]]
    )
    group = found.groupby("episode")["work"]
    count = group.size().reindex(frame.index, fill_value=0).astype("int64")
    packets = group.sum(min_count=1).reindex(frame.index).astype("Int64")
    unknown = (
        found[found["work"].isna()].groupby("episode").size().reindex(frame.index, fill_value=0)
    )
    packets = packets.where(count > 0, 0).mask(unknown > 0)
    return count, packets
