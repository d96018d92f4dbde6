# A victim's time on CPU over the window, bin by bin, by what ran.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...coverage import lost_of_cpus
from ...timeline.owners import of_tasks
from ...timeline.reading import rows
from ...timeline.task import Task, label_of, rows_of
from ...timeline.timeline import Timeline
from ...units import round_width
from ..victim import victim_of
from .rolling_stolen import rolling_stolen, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

_REASONS = 3


@question(
    inputs=rolling_stolen.grouped,
    columns=("start_ns", "end_ns", "on_cpu_ns", "task_ns", "stolen_ns", "stolen_share"),
    rows=0,
)
def over_time(
    timeline: Timeline, victim: Task | None = None, bin_ns: int | None = None
) -> pd.DataFrame:
    """What a victim's time on CPU went to while the capture went on, in bins beside each other.

    - bin_ns: The width of a bin. None: a round one of which the timeline has about 120.

    rolling_stolen() for windows of one bin: a row per bin, whose parts add up to on_cpu_ns.

    Source: sums(bin_ns), and lives.
    """
    width = _width(timeline, bin_ns)
    return rolling_stolen(timeline, width, width, victim=victim)


def _width(timeline: Timeline, bin_ns: int | None) -> int:
    return round_width(timeline.duration_ns) if bin_ns is None else bin_ns


def cpus_of(timeline: Timeline, victim: Task | None) -> list[int]:
    # The CPUs on which a victim was seen, the one with most of its time first; None: any task.
    own = rows_of(of_tasks(timeline.sums_by_thief()), victim)
    by_cpu = own.groupby("cpu")["ns"].sum().sort_values(ascending=False, kind="stable")
    return [int(cpu) for cpu in by_cpu.index]


def _lost_ns(timeline: Timeline, cpus: list[int]) -> int:
    # Overlaps counted once.
    window = int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"])
    gaps = _gaps(timeline, cpus).to_dict("records")
    return sum(lost_of_cpus(cpus, gaps, window).values())


def _gaps(timeline: Timeline, cpus: list[int]) -> pd.DataFrame:
    [gaps] = rows(timeline, "coverage")
    return gaps[gaps["cpu"].isin(cpus)]


@over_time.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # cpus: those on which it was; lost_ns: their time without record, overlaps counted once;
    # spread: None where it cannot be told.
    timeline = answer.timeline
    victim = victim_of(answer)
    cpus = cpus_of(timeline, victim)
    known = victim is not None and not timeline.missing["on_cpu"]
    return {
        "cpus": sorted(cpus),
        "lost_ns": _lost_ns(timeline, cpus),
        "spread": spread(answer.frame) if known else None,
    }


@over_time.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    # gaps: of the CPUs on which it was.
    timeline, parts = answer.timeline, answer.parts
    victim = victim_of(answer)
    gaps = _gaps(timeline, parts["cpus"])
    why = gaps["why"].astype(object).value_counts()[:_REASONS]
    return {
        "victim": label_of(timeline, victim),
        "cpus": parts["cpus"],
        "empty": not timeline.duration_ns,
        "bin_ns": _width(timeline, answer.options.get("bin_ns")),
        "on_cpu_known": not timeline.missing["on_cpu"],
        "spread": parts["spread"],
        "gaps": len(gaps),
        "lost_ns": parts["lost_ns"],
        "why": {str(reason): int(many) for reason, many in why.items()},
    }


def _shown(answer: "Answer") -> list[dict[str, Any]]:
    return [{}] if answer.figures["cpus"] and not answer.figures["empty"] else []


@over_time.plot(
    title=lambda answer: (
        f"Time on CPU of {answer.figures['victim'] or 'each task'} by what ran, over the window"
    ),
    panels=_shown,
)
def _bins(ax: "Axes", answer: "Answer") -> None:
    from ...plots.time import stolen_over_time

    timeline, figures = answer.timeline, answer.figures
    gaps = _gaps(timeline, figures["cpus"])
    window = (int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"]))
    stolen_over_time(ax, answer.frame, gaps, window, figures["bin_ns"], answer.start_ns)
