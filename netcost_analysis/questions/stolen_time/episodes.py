"""The longest episodes of interrupts on top of a task, in which it did not run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...timeline.aggregate import known_if
from ...timeline.task import Task, label_of
from ...timeline.timeline import Timeline
from ..carried import appended, behind, largest
from ..folds import fold
from ..question import question
from .episode_rows import beside, describe, longest, mark, of_interest, unfinished
from .victim import asked_or_chosen, victim_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..answer import Answer

# From an interrupt's exit to the entry of the softirq it raised, and from one softirq to the next:
# 0.6 to 8 us in the sample data, the slowest of them emulated.
GAP_NS = 10_000
_BARS, _PARTS = 8, 3
# What is read of the tables.
_SEGMENT = [
    *("cpu", "start_ns", "end_ns", "context", "tid", "comm", "id", "name", "napi", "device"),
    *("cost_class", "is_network"),
]
_SOFTIRQ = ["cpu", "entry_ns", "raise_ns"]
_POLL = ["cpu", "end_ns", "work"]


@dataclass(frozen=True)
class Episodes:
    """The longest episodes; columns: docs/columns.md.

    Attributes
    ----------
    episodes : DataFrame
        A row per episode, the longest first.
    parts : DataFrame
        A row per episode and thief, the largest first, with the episode's number in the index of
        episodes.
    total : int
        How many there were.
    """

    episodes: pd.DataFrame
    parts: pd.DataFrame
    total: int


@question(
    needs=("interrupted",),
    may_be_0=("most", "gap_ns"),
    inputs=("segments", "softirqs", "polls"),
    main_columns=("episode", "comm", "cpu", "start_ns", "stolen_ns", "began_with", "packets"),
)
def episodes(
    timeline: Timeline, victim: Task | None = None, most: int = 20, gap_ns: int = GAP_NS
) -> Episodes:
    """The longest episodes of interrupts on top of one task, in which it did not run.

    Parameters
    ----------
    timeline : Timeline
        What is asked.
    victim : int or str, optional
        A task by tid or comm; ALL for every task. None: the timeline's (Timeline.victim).
    most : int
        How many of them.
    gap_ns : int
        So much of the task's own time between two interrupts may be part of an episode; 0 for none.

    Returns
    -------
    Episodes
        episodes, a row for each, and parts, a row per episode and thief.

    Raises
    ------
    ArgumentError
        For a negative gap_ns or most.
    AbsentError
        For a victim that did not run.
    MissingEventsError
        Where no interrupt of any kind was recorded.

    Notes
    -----
    Source: segments, softirqs and polls. An episode is as much of one CPU's time, without a break,
    as is stolen or stolen_or_synchronous on top of one task, or that task's own, no longer than
    gap_ns, between two of these, up to the entry of a softirq that had been raised before (or whose
    raise is not known). From an interrupt's exit to the softirq's entry, and from one softirq to
    the next, no event tells the kernel from the task.
    """
    victim = asked_or_chosen(timeline, victim)
    asked: dict[str, Any] = {"victim": victim, "most": most, "gap_ns": gap_ns}
    last = _closed(_gathered(timeline, **asked), is_over=True, **asked)
    assert last.episodes is not None
    assert last.parts is not None
    frame = last.episodes.reset_index(drop=True).rename_axis("episode")
    places = dict(zip(last.episodes.index, frame.index, strict=True))
    parts = last.parts.assign(episode=last.parts["episode"].map(places).astype("int64"))
    parts = parts.sort_values(["episode", "ns"], ascending=[True, False], kind="stable")
    frame = counted_if(not timeline.missing["polls"], frame)
    return Episodes(frame, parts.reset_index(drop=True), last.total)


class _Gathered(NamedTuple):
    # The longest episodes that are over, with their parts, and of how many; and rows of what may go
    # on.
    episodes: pd.DataFrame | None
    parts: pd.DataFrame | None
    total: int
    segments: pd.DataFrame
    softirqs: pd.DataFrame
    polls: pd.DataFrame


@fold(
    *("segments", "softirqs", "polls"),
    columns={"segments": _SEGMENT, "softirqs": _SOFTIRQ, "polls": _POLL},
)
def _gathered(
    before: _Gathered | None,
    segments: pd.DataFrame,
    softirqs: pd.DataFrame,
    polls: pd.DataFrame,
    **asked: Any,
) -> _Gathered:
    tables = (segments.loc[of_interest(segments), _SEGMENT], softirqs[_SOFTIRQ], polls[_POLL])
    if before is None:
        return _closed(_Gathered(None, None, 0, *tables), is_over=False, **asked)
    rest = (before.segments, before.softirqs, before.polls)
    rows = (appended(one, more) for one, more in zip(rest, tables, strict=True))
    return _closed(_Gathered(*before[:3], *rows), is_over=False, **asked)


def _closed(of: _Gathered, victim: Task | None, most: int, gap_ns: int, is_over: bool) -> _Gathered:
    # What is over is told, and its rows let go.
    segments, softirqs, polls = of.segments, of.softirqs, of.polls
    marked = mark(segments, softirqs, gap_ns)
    rest = unfinished(segments, marked) & (not is_over)
    # What comes behind so many that were found is none of the longest.
    after = None
    if of.episodes is not None and len(of.episodes) == most > 0:
        last = of.episodes.iloc[-1]
        after = int(last["wall_ns"]), int(last["cpu"])
    ended = np.where(rest, -1, marked.number)
    count, chosen = longest(segments, ended, victim, most, after)
    found, parts = of.episodes, of.parts
    if found is None or len(chosen):
        kept = np.where(np.isin(marked.number, chosen) & ~rest, marked.number, -1)
        near = beside(kept >= 0)
        frame, more = describe(segments[near], kept[near], polls, victim)
        frame.index += of.total
        more["episode"] += of.total
        found = largest(found, frame, ["wall_ns", "cpu", "start_ns"], most)
        parts = pd.concat([parts, more])
        parts = parts[parts["episode"].isin(found.index)]
    segments = segments[rest]
    since = segments.groupby("cpu")["start_ns"].min()
    softirqs = softirqs[behind(softirqs, "entry_ns", since)]
    polls = polls[behind(polls, "end_ns", since)]
    return _Gathered(found, parts, of.total + count, segments, softirqs, polls)


def counted_if(polled: bool, frame: pd.DataFrame) -> pd.DataFrame:
    # polls and packets as Int64, NA where polls were not recorded.
    polls, packets = (known_if(polled, frame[name]) for name in ("polls", "packets"))
    return frame.assign(polls=polls, packets=packets)


@episodes.figures
def _longest_one(answer: "Answer[Episodes]") -> dict[str, Any]:
    # first: the longest, None where there is none; parts: its largest, with their ns.
    found: Episodes = answer.result
    parts = found.parts[found.parts["episode"] == 0].head(_PARTS)
    rows = found.episodes.to_dict("records")
    return {
        "victim": label_of(answer.timeline, victim_of(answer)),
        "total": found.total,
        "first": rows[0] if rows else None,
        "parts": list(zip(parts["thief"], parts["ns"], strict=True)),
        "any_cut": bool(found.episodes["cut"].any()),
        "origin_ns": answer.start_ns,
    }


def _any(answer: "Answer[Episodes]") -> list[dict[str, Any]]:
    return [{}] if len(answer.frame) else []


@episodes.plot(
    title="The longest episodes, in which a task did not run",
    height=lambda answer: 1.2 + 0.28 * min(len(answer.frame), _BARS),
    panels=_any,
)
def _bars(ax: "Axes", answer: "Answer[Episodes]") -> None:
    from .plots import longest as draw

    draw(ax, answer.frame, answer.start_ns, _BARS)
