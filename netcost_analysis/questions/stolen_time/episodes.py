"""The longest episodes of interrupts on top of a task, in which it did not run."""

import pandas as pd

from ... import plots
from ...answers.question import Answer, question
from ...frames import plain_frame
from ...timeline.owners import KIND_COLUMNS, kinds_of, known_if, thief_labels
from ...timeline.task import Task, label_of
from ...timeline.timeline import Timeline
from ..longest_episodes import GAP_NS, LONGEST, longest
from ..victim import asked_or_chosen

_BARS = 8


@question(
    needs=("interrupted",),
    allow_zero=("most", "gap_ns"),
    inputs=(LONGEST,),
    columns=("episode", "comm", "cpu", "start_ns", "stolen_ns", "began_with", "packets"),
)
def episodes(
    timeline: Timeline, victim: Task | None = None, most: int = 20, gap_ns: int = GAP_NS
) -> Answer:
    """The longest episodes in which interrupts kept one task from running.

    - most: The number of episodes.
    - gap_ns: The most of the task's own time between two interrupts that may be part of an episode;
      0 for none.

    episodes: a row for each, the longest first; parts: a row per episode and thief, the largest
    first. An episode is an unbroken stretch of one CPU's time that is stolen or
    stolen_or_synchronous on top of one task. It may include the task's own time between two of
    these, no longer than gap_ns, up to the entry of a softirq that had been raised before (or whose
    raise is unknown). From an interrupt's exit to the softirq's entry, and from one softirq to the
    next, no event tells the kernel from the task.

    Source: segments, softirqs and polls.
    """
    wanted = longest(timeline, victim, most, gap_ns)
    tables = {name: plain_frame(table) for name, table in LONGEST(timeline, wanted).items()}
    frame, parts = _described(tables["episodes"], tables["parts"])
    return Answer(
        episodes=counted_if(not timeline.missing["polls"], frame),
        parts=parts,
        total=int(tables["total"]["episodes"].iloc[0]),
        victim=label_of(timeline, asked_or_chosen(timeline, victim)),
        capture_start_ns=timeline.capture.start_ns,
    )


def _described(rows: pd.DataFrame, owners: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    # owners: a row per episode and thief, in order of first occurrence.
    owners = owners.assign(thief=thief_labels(owners), kind=kinds_of(owners))

    def taken(some: pd.DataFrame) -> "pd.Series[int]":
        return some.groupby("episode")["ns"].sum().reindex(rows.index, fill_value=0)

    frame = rows[["cpu", "tid", "comm", "start_ns", "end_ns", "wall_ns"]].rename_axis("episode")
    frame["stolen_max_ns"] = taken(owners)
    frame["stolen_ns"] = taken(owners[owners["cost_class"] == "stolen"])
    for kind, name in KIND_COLUMNS.items():
        frame[name] = taken(owners[owners["kind"] == kind])
    frame[["polls", "packets"]] = rows[["polls", "packets"]]
    frame["began_with"] = owners.groupby("episode")["thief"].first()
    frame[["ran_before_ns", "cut"]] = rows[["ran_before_ns", "cut"]]
    parts = owners.groupby(["episode", "thief"])["ns"].sum().reset_index()
    order = ["episode", "ns"]
    return frame, parts.sort_values(order, ascending=[True, False], ignore_index=True)


def counted_if(polled: bool, frame: pd.DataFrame) -> pd.DataFrame:
    # polls and packets as Int64, NA where polls were not recorded.
    polls, packets = (known_if(polled, frame[name]) for name in ("polls", "packets"))
    return frame.assign(polls=polls, packets=packets)


episodes.plot(
    title="The longest episodes in which a task did not run",
    height=lambda answer: 1.2 + 0.28 * min(len(answer.frame), _BARS),
)(lambda ax, answer: plots.stolen_time.longest(ax, answer.frame, answer.start_ns, _BARS))
