# Devices by CPUs, as Solaris' intrstat showed them.

from typing import TYPE_CHECKING

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from .device_time import INPUTS, times_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...timeline.timeline import Timeline

# A picture has so many thieves at most.
_MOST = 14


@question(
    needs=(("interrupts", "polls"),),
    inputs=INPUTS,
    columns=("thief", "cpu", "cpu_share", "interrupts_per_s", "ns"),
    rows=0,
)
def device_matrix(timeline: "Timeline") -> Answer:
    """Devices by CPUs: what share of each CPU's time each took, with interrupts per second.

    A row per thief and recorded CPU, thieves by falling total, those CPUs included on which it took
    nothing. interrupts_per_s is NA where a thief has no interrupts. `kinds`: on all CPUs. Source:
    device_time.
    """
    rows = times_of(timeline)
    totals = rows.groupby(["kind", "thief"])["ns"].sum()
    thieves = totals.sort_values(ascending=False, kind="stable").index
    cpus = sorted(timeline.summary["cpus"])
    places = pd.MultiIndex.from_tuples(
        [(*thief, cpu) for thief in thieves for cpu in cpus], names=["kind", "thief", "cpu"]
    )
    values = rows[["ns", "cpu_share", "interrupts_per_s"]].astype("Float64")
    sums = values.groupby([rows[name] for name in places.names]).sum(min_count=1)
    # What is not known of a row stays so; a CPU without a row had none of it.
    frame = sums.reindex(places, fill_value=0.0)
    per_s = frame["interrupts_per_s"]
    unknown = per_s.isna().groupby(level=["kind", "thief"]).transform("any")
    frame["interrupts_per_s"] = per_s.mask(unknown)
    frame = frame.reset_index().astype({"ns": "Int64"})
    kinds = frame.groupby("kind", as_index=False)["ns"].sum()
    kinds["cpu_share"] = kinds["ns"].astype("Float64") / (timeline.duration_ns or pd.NA)
    return Answer(
        frame,
        kinds=kinds[kinds["ns"] > 0],
        polls_recorded=not timeline.missing["polls"],
        unknown_cpu_share=timeline.unknown_cpu_share,
    )


def _pictured(answer: Answer) -> pd.DataFrame:
    # Rows of a thief stand together, as many as there are CPUs.
    return answer.frame[: _MOST * answer.frame["cpu"].nunique()]


@device_matrix.plot(
    title="Share of each CPU's time by device",
    height=lambda answer: 0.9 + 0.36 * len(_pictured(answer)[["kind", "thief"]].drop_duplicates()),
    panels=lambda answer: [{}] if len(answer.frame) else [],
)
def _matrix(ax: "Axes", answer: Answer) -> None:
    from .plots import matrix

    matrix(ax, _pictured(answer))
