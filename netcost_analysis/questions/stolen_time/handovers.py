"""What was handed over to kernel threads: when, why, for how long, and who waited meanwhile."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from ... import plots
from ...answers.question import Answer, question
from ...frames import to_frame
from ...spans import spans_of
from ...timeline.aggregates import Aggregate
from ...timeline.lives import LIVES, everywhere, lives_of
from ...timeline.owners import known_if
from ...timeline.reading import bounds_of, once
from ...timeline.task import label_of, rows_of
from ...timeline.timeline import Timeline
from ..batches.kernel_limits import limits_of
from ..stolen import stolen_from
from .episodes import counted_if
from .threads import STAYS, THREADS, WAKE_NS, displaced_in, handovers_of, stays_of

if TYPE_CHECKING:
    from ..._native import ArrowTable

_LANES, _TASKS = 8, 7


@dataclass(frozen=True, eq=False)
class HandedOver:
    """Native's aggregate: what threads' slices were for, and who waited meanwhile.

    stays: of all threads. renamed: the table of lives_of(), None where the CPUs' clocks disagree.
    threads: how their names begin. near_ns: how long before a wake-up its cause may have ended.
    end_ns: until when tasks that did not come back waited, None where that is unknown.
    """

    stays: pd.DataFrame
    renamed: "ArrowTable | None"
    threads: tuple[str, ...]
    near_ns: int
    end_ns: int | None


@once
def _handed_over(timeline: Timeline) -> HandedOver:
    across, whole = not timeline.missing["clocks"], everywhere(timeline)
    summary = timeline.summary
    return HandedOver(
        stays=stays_of(timeline),
        renamed=lives_of(timeline)["renamed"] if across else None,
        threads=THREADS,
        near_ns=WAKE_NS,
        end_ns=None if whole.summary["lost_events"] else int(summary["end_ns"]),
    )


# Its tables. stays, a row per slice: the polls that ended in it, their packets, and for how many
# polls these are unknown; call_ns, rounds and on_comm of the run of softirqs that ended shortly
# before its wake-up, null where none did or what the thread ran first was raised later; raised_ns:
# when that was. held: when scheduled network work had the CPU in these slices. waits: those that
# overlap a slice, cut where the task was moved.
_HANDED_OVER = Aggregate(_handed_over, on=everywhere, is_later=True)


@question(
    needs=("sched:sched_switch", ("softirqs", "polls")),
    inputs=(LIVES, STAYS, _HANDED_OVER),
    columns=(
        *("handover", "comm", "start_ns", "network_ns", "displaced_all_ns", "wake_reason"),
        "packets",
    ),
)
def handovers(timeline: Timeline) -> Answer:
    """Each time ksoftirqd or a NAPI thread had network work.

    handovers: a row per hand-over, in order of time; displaced: a row per hand-over and task that
    waited for that CPU during it, none if the CPUs' clocks disagree. A hand-over begins when such a
    thread is woken and ends when it goes back to sleep. It includes all of its stays on the CPU in
    between, those after a preemption too. Stretches without network work are left out. NAPI's own
    threads (threaded NAPI, backlog threads) have all of their work handed over from the start, and
    wake_reason says so.

    Source: slices; then segments, softirqs, hardirqs, polls, migrations and slices.
    """
    # A task that waited for one of these CPUs may have come back on another.
    tables = {name: to_frame(table) for name, table in _HANDED_OVER(timeline).items()}
    held = spans_of(tables["held"], group="cpu")
    stays = _handed_over(timeline).stays.join(tables["stays"])
    worked, frame = handovers_of(stays, held, limits_of(timeline.capture))
    frame = counted_if(not timeline.missing["polls"], frame)
    waits = tables["waits"].astype({"comm": object})
    waits = waits.drop_duplicates(["cpu", "tid", "start_ns", "end_ns"])
    across = not timeline.missing["clocks"]
    displaced = displaced_in(worked, waits if across else waits[:0], held)
    group = displaced.groupby("handover")["ns"]
    for name, values in (("displaced_all_ns", group.sum()), ("displaced_tasks", group.size())):
        frame[name] = known_if(across, values.reindex(frame.index, fill_value=0))
    order = ["handover", "ns"]
    displaced = displaced.sort_values(order, ascending=[True, False], ignore_index=True)
    reasons = frame["wake_reason"].value_counts().rename("handover_count")
    return Answer(
        handovers=frame,
        displaced=displaced,
        by_reason=reasons.reset_index(),
        in_all=_totals(timeline, frame, displaced),
        threads=list(frame["comm"].value_counts().index),
        victim=label_of(timeline, timeline.victim),
        capture_start_ns=timeline.capture.start_ns,
    )


def _totals(
    timeline: Timeline, frame: pd.DataFrame, displaced: pd.DataFrame
) -> dict[str, int | None]:
    # Sums over hand-overs, and the victim's waits in them. polls, packets: None where any are
    # unknown. behind_others_ns: waits behind threads to which nothing was handed over.
    victim, all_ns, waits = timeline.victim, 0, displaced[:0]
    if victim is not None:
        all_ns = stolen_from(timeline, victim).row["displaced_ns"] or 0
        waits = rows_of(displaced, victim)
    own = waits.groupby("handover")["ns"].sum()
    counts = {name: frame[name].sum(skipna=False) for name in ("polls", "packets")}
    return {
        "network_ns": int(frame["network_ns"].sum()),
        **{name: None if pd.isna(count) else int(count) for name, count in counts.items()},
        "waits": len(own),
        "waited_ns": int(own.sum()),
        "waited_most_ns": int(own.max()) if len(own) else 0,
        "behind_others_ns": all_ns - int(own.sum()),
    }


@handovers.plot(
    title="When kernel threads had network work",
    height=lambda answer: 1.0 + 0.26 * min(answer.frame["comm"].nunique(), _LANES),
)
def _when(ax: "plots.Axes", answer: Answer) -> None:
    window = bounds_of(answer.timeline).span
    plots.stolen_time.when(ax, answer.frame, window, answer.start_ns)


handovers.plot(
    "waited",
    title="Who waited while kernel threads had network work",
    height=lambda answer: 1.0 + 0.26 * min(answer["displaced"]["comm"].nunique(), _TASKS),
    panels=lambda answer: [{}] if len(answer["displaced"]) else [],
)(lambda ax, answer: plots.stolen_time.waited(ax, answer["displaced"]))
