"""The longest episodes of interrupts on top of a task, in which it did not run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...timeline.aggregate import known_if
from ...timeline.task import Task, label_of
from ...timeline.timeline import Timeline
from ..inputs import rows, windows
from ..question import question
from .episode_rows import describe, latest, mark
from .joining import joined
from .victim import asked_or_chosen, victim_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..answer import Answer

# From an interrupt's exit to the entry of the softirq it raised, and from one softirq to the next:
# 0.6 to 8 us in the sample data, the slowest of them emulated.
GAP_NS = 10_000
_BARS, _PARTS = 8, 3


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
    Source: segments, softirqs and polls; of a large capture window by window. An episode is as much
    of one CPU's time, without a break, as is stolen or stolen_or_synchronous on top of one task, or
    that task's own, no longer than gap_ns, between two of these, up to the entry of a softirq that
    had been raised before (or whose raise is not known). From an interrupt's exit to the softirq's
    entry, and from one softirq to the next, no event tells the kernel from the task.
    """
    victim = asked_or_chosen(timeline, victim)
    polled = not timeline.missing["polls"]
    found: list[tuple[pd.DataFrame, pd.DataFrame]] = []
    count = 0
    rest: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame] | None = None

    def add(segments: pd.DataFrame, softirqs: pd.DataFrame, polls: pd.DataFrame) -> None:
        nonlocal count
        frame, parts = describe(segments, mark(segments, softirqs, gap_ns), polls, victim)
        frame.index += count
        parts["episode"] += count
        count += len(frame)
        found.append(longest([*found, (frame, parts)], most))
        del found[:-1]

    for window in windows(timeline):
        segments, softirqs, polls = rows(window, "segments", "softirqs", "polls")
        if rest is not None:
            segments = joined(rest[0], segments)
            softirqs = pd.concat([rest[1], softirqs]).drop_duplicates(["cpu", "ordinal"])
            polls = pd.concat([rest[2], polls]).drop_duplicates(["cpu", "end_ns", "napi", "work"])
        open_ = latest(segments, mark(segments, softirqs, gap_ns), gap_ns)
        add(segments[~open_], softirqs, polls)
        segments = segments[open_]
        since = segments["start_ns"].min() if len(segments) else window.summary["end_ns"]
        near = softirqs["exit_ns"].isna() | (softirqs["exit_ns"] >= since).fillna(True)
        rest = segments, softirqs[near], polls[polls["end_ns"] >= since]
    if rest is not None:
        add(*rest)
    frame, parts = found[-1]
    order = frame.sort_values("wall_ns", ascending=False, kind="stable").index
    renamed = {number: place for place, number in enumerate(order)}
    frame = frame.loc[order].reset_index(drop=True).rename_axis("episode")
    parts = parts.assign(episode=parts["episode"].map(renamed).astype("int64"))
    parts = parts.sort_values(["episode", "ns"], ascending=[True, False], kind="stable")
    return Episodes(counted_if(polled, frame), parts.reset_index(drop=True), count)


def counted_if(polled: bool, frame: pd.DataFrame) -> pd.DataFrame:
    # polls and packets as Int64, NA where polls were not recorded.
    polls, packets = (known_if(polled, frame[name]) for name in ("polls", "packets"))
    return frame.assign(polls=polls, packets=packets)


def longest(
    found: list[tuple[pd.DataFrame, pd.DataFrame]], most: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    frame = pd.concat([one for one, _ in found])
    frame = frame.sort_values("wall_ns", ascending=False, kind="stable").head(most)
    parts = pd.concat([one for _, one in found])
    return frame, parts[parts["episode"].isin(frame.index)]


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
