# A victim's time on CPU over the window, bin by bin, by what ran.

from typing import TYPE_CHECKING, Any

from ...answers.answer import Answer
from ...answers.question import question
from ...coverage import lost_of_cpus
from ...timeline.owners import of_tasks
from ...timeline.reading import rows
from ...timeline.task import Task, label_of, rows_of
from ...timeline.timeline import Timeline
from ...units import round_width
from ..victim import asked_or_chosen
from .rolling_stolen import rolling_stolen, spread, windows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@question(
    inputs=("coverage", *rolling_stolen.grouped),
    columns=("start_ns", "end_ns", "on_cpu_ns", "task_ns", "stolen_ns", "stolen_share"),
    rows=0,
)
def over_time(timeline: Timeline, victim: Task | None = None, bin_ns: int | None = None) -> Answer:
    """What a victim's time on CPU went to while the capture went on, in bins beside each other.

    - bin_ns: The width of a bin. None: a round one of which the timeline has about 120.

    rolling_stolen() for windows of one bin: a row per bin, whose parts add up to on_cpu_ns. gaps:
    those of the record of the CPUs on which it was.

    Source: sums(bin_ns), lives, and coverage.
    """
    width = round_width(timeline.duration_ns) if bin_ns is None else bin_ns
    victim = asked_or_chosen(timeline, victim)
    frame = windows(timeline, width, width, None, victim)
    known = victim is not None and not timeline.missing["on_cpu"]
    cpus = cpus_of(timeline, victim)
    [coverage] = rows(timeline, "coverage")
    gaps = coverage.loc[coverage["cpu"].isin(cpus), ["cpu", "start_ns", "end_ns", "why"]]
    window = int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"])
    return Answer(
        frame,
        cpus=sorted(cpus),
        # Overlaps are counted once.
        lost_ns=sum(lost_of_cpus(cpus, gaps.to_dict("records"), window).values()),
        spread=spread(frame) if known else None,
        gaps=gaps.reset_index(drop=True),
        gap_reasons=gaps["why"].astype(object).value_counts().rename("gap_count").reset_index(),
        victim=label_of(timeline, victim),
        window_ns=timeline.duration_ns,
        width_ns=width,
    )


def cpus_of(timeline: Timeline, victim: Task | None) -> list[int]:
    # The CPUs on which a victim was seen, the one with most of its time first; None: any task.
    own = rows_of(of_tasks(timeline.sums_by_thief()), victim)
    by_cpu = own.groupby("cpu")["ns"].sum().sort_values(ascending=False, kind="stable")
    return [int(cpu) for cpu in by_cpu.index]


def _shown(answer: Answer) -> list[dict[str, Any]]:
    return [{}] if answer["cpus"] and answer["window_ns"] else []


@over_time.plot(
    title=lambda answer: (
        f"Time on CPU of {answer['victim'] or 'each task'} by what ran, over the window"
    ),
    panels=_shown,
)
def _bins(ax: "Axes", answer: Answer) -> None:
    from ...plots.time import stolen_over_time

    summary = answer.timeline.summary
    window = (int(summary["start_ns"]), int(summary["end_ns"]))
    width = answer["width_ns"]
    stolen_over_time(ax, answer.frame, answer["gaps"], window, width, answer.start_ns)
