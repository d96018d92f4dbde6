"""The longest stretches in which a victim did not get to run for interrupts on top of it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...capture.requires import MissingEventsError, unrecorded
from ...errors import ArgumentError
from ...timeline.aggregate import known_if, require_task
from ...timeline.chunks import chunks
from ...timeline.timeline import Timeline
from ..question import question
from .episode_rows import describe, latest, mark
from .joining import joined

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..answer import Answer

# From an interrupt's exit to the entry of the softirq it raised, and from one softirq to the next:
# 0.6 to 8 us in the sample data, the slowest of them emulated.
GAP_NS = 10_000
# Without any of these, and any vector, it is not known whether something ran on top of a task.
_INTERRUPTS = (
    *("irq:irq_handler_entry", "irq:irq_handler_exit"),
    *("irq:softirq_entry", "irq:softirq_exit"),
)
_BARS, _PARTS = 8, 3


@dataclass(frozen=True)
class Episodes:
    """The longest episodes; columns: docs/columns.md.

    episodes: a row per episode, the longest first. parts: a row per episode and thief, the largest
    first, with the episode's number in the index of episodes. total: how many there were.
    """

    episodes: pd.DataFrame
    parts: pd.DataFrame
    total: int


@question(main_columns=("episode", "comm", "cpu", "start_ns", "stolen_ns", "began_with", "packets"))
def episodes(
    timeline: Timeline, victim: str | None = None, most: int = 20, gap_ns: int = GAP_NS
) -> Episodes:
    """The longest stretches of interrupts on top of one task that did not run in between.

    victim: only the task of that name, None for every task. most: how many of them. gap_ns: an
    episode is a maximal stretch of one CPU made of stolen or stolen_or_synchronous time on top of
    one task, and of those stretches of the task's own between two of them that are no longer than
    this and end at the entry of a softirq that had been raised before they began (or whose raise is
    not known). From an interrupt's exit to the softirq's entry, and from one softirq to the next,
    no event tells the kernel from the task; 0 for none of that.

    Raises ValueError for a negative gap_ns or most, CaptureError where no interrupt of any kind was
    recorded and as the timeline does. Source: segments, softirqs and polls; what would not fit into
    memory is gone through in several passes.
    """
    if gap_ns < 0 or most < 0:
        raise ArgumentError("most and gap_ns are not negative")
    unseen = unrecorded(timeline.capture, *_INTERRUPTS)
    vectors = any(name.startswith("irq_vectors:") for name in timeline.capture.info["events"])
    if len(unseen) == len(_INTERRUPTS) and not vectors:
        raise MissingEventsError("episodes", tuple(unseen))
    require_task(timeline.sums(), victim)
    polled = not unrecorded(timeline.capture, "napi:napi_poll")
    found: list[tuple[pd.DataFrame, pd.DataFrame]] = []
    count = 0
    rest: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame] | None = None

    def add(rows: pd.DataFrame, softirqs: pd.DataFrame, polls: pd.DataFrame) -> None:
        nonlocal count
        frame, parts = describe(rows, mark(rows, softirqs, gap_ns), polls, victim)
        frame.index += count
        parts["episode"] += count
        count += len(frame)
        found.append(longest([*found, (frame, parts)], most))
        del found[:-1]

    for piece in chunks(timeline, "segments", "softirqs", "polls"):
        rows, softirqs, polls = piece.segments, piece.softirqs, piece.polls
        if rest is not None:
            rows = joined(rest[0], rows)
            softirqs = pd.concat([rest[1], softirqs]).drop_duplicates(["cpu", "ordinal"])
            polls = pd.concat([rest[2], polls]).drop_duplicates(["cpu", "end_ns", "napi", "work"])
        open_ = latest(rows, mark(rows, softirqs, gap_ns), gap_ns)
        add(rows[~open_], softirqs, polls)
        rows = rows[open_]
        since = rows["start_ns"].min() if len(rows) else piece.summary["end_ns"]
        near = softirqs["exit_ns"].isna() | (softirqs["exit_ns"] >= since).fillna(True)
        rest = rows, softirqs[near], polls[polls["end_ns"] >= since]
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
        "victim": answer.options.get("victim"),
        "total": found.total,
        "first": rows[0] if rows else None,
        "parts": list(zip(parts["thief"], parts["ns"], strict=True)),
        "any_cut": bool(found.episodes["cut"].any()),
        "origin_ns": answer.start_ns,
    }


def _any(answer: "Answer[Episodes]") -> list[dict[str, Any]]:
    return [{}] if len(answer.frame) else []


@episodes.plot(
    title="The longest stretches without running",
    height=lambda answer: 1.2 + 0.28 * min(len(answer.frame), _BARS),
    panels=_any,
)
def _bars(ax: "Axes", answer: "Answer[Episodes]") -> None:
    from .plots import longest as draw

    draw(ax, answer.frame, answer.start_ns, _BARS)
