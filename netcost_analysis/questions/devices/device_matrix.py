# Devices by CPUs, as Solaris' intrstat showed them.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from .device_time import INPUTS, device_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...timeline.timeline import Timeline

# A picture has so many thieves at most.
_MOST = 14
# Less time without a known owner is not worth a word.
_WORTH_SHARE = 0.001


@question(
    needs=(("interrupts", "polls"),),
    inputs=INPUTS,
    columns=("thief", "cpu", "cpu_share", "interrupts_per_s", "ns"),
    rows=0,
)
def device_matrix(timeline: "Timeline") -> pd.DataFrame:
    """Devices by CPUs: what share of each CPU's time each took, with interrupts per second.

    A row per thief and recorded CPU, thieves by falling total, those CPUs included on which it took
    nothing: kind, thief, cpu, ns, cpu_share (of that CPU's window), interrupts_per_s (NA where
    interrupts were not recorded or a thief has none).

    Source: device_time.
    """
    rows = device_time(timeline)
    totals = rows.groupby(["kind", "thief"])["ns"].sum()
    thieves = totals.sort_values(ascending=False, kind="stable").index
    cpus = sorted(timeline.summary["cpus"])
    places = pd.MultiIndex.from_tuples(
        [(*thief, cpu) for thief in thieves for cpu in cpus], names=["kind", "thief", "cpu"]
    )
    values = rows[["ns", "cpu_share", "interrupts_per_s"]].astype("Float64")
    found = values.groupby([rows[name] for name in places.names]).sum(min_count=1)
    # What is not known of a row stays so; a CPU without a row had none of it.
    frame = found.reindex(places, fill_value=0.0)
    per_s = frame["interrupts_per_s"]
    unknown = per_s.isna().groupby(level=["kind", "thief"]).transform("any")
    frame["interrupts_per_s"] = per_s.mask(unknown)
    frame = frame.reset_index()
    return frame.astype({"cpu": "int64", "ns": "Int64", "cpu_share": "float64"})


@device_matrix.totals
def _totals(answer: "Answer") -> dict[str, pd.DataFrame]:
    # kinds: ns of each kind on all CPUs, and as a share of one.
    kinds = answer.frame.groupby("kind", as_index=False)["ns"].sum()
    kinds["cpu_share"] = kinds["ns"].astype("Float64") / (answer.timeline.duration_ns or pd.NA)
    return {"kinds": kinds[kinds["ns"] > 0]}


@device_matrix.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    # What no device can be charged with. names: the first thieves; backlog: polls without a device;
    # softirq: network softirqs, outside their polls or, where those were not recorded, with them;
    # None for none of it; unknown_share: of CPU time, 0 for next to none.
    timeline, names = answer.timeline, answer.frame["thief"].drop_duplicates()
    kinds = {row["kind"]: row for row in answer.tables["kinds"].to_dict("records")}
    unknown = timeline.unknown_cpu_share or 0.0
    return {
        "names": list(names[:_MOST]),
        "backlog": kinds.get("backlog"),
        "softirq": kinds.get("softirq"),
        "polls_recorded": not timeline.missing["polls"],
        "unknown_share": unknown if unknown > _WORTH_SHARE else 0.0,
    }


def _shown(rows: pd.DataFrame) -> pd.DataFrame:
    # Rows of a thief stand together, as many as there are CPUs.
    return rows[: _MOST * rows["cpu"].nunique()]


def _height(answer: "Answer") -> float:
    return 0.9 + 0.36 * len(_shown(answer.frame)[["kind", "thief"]].drop_duplicates())


@device_matrix.plot(
    title="Share of each CPU's time by device",
    height=_height,
    panels=lambda answer: [{}] if len(answer.frame) else [],
)
def _matrix(ax: "Axes", answer: "Answer") -> None:
    from .plots import matrix

    matrix(ax, _shown(answer.frame))
