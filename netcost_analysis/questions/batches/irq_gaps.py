# Time between interrupts of a line.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...timeline.timeline import Timeline
from ..inputs import rows
from ..question import question
from .common import gaps_between, plain, record_gaps, records, spread_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..answer import Answer

_LINES = 8


@question(
    needs=("irq:irq_handler_entry", "irq:irq_handler_exit"),
    inputs=("hardirqs", "coverage"),
    main_columns=("cpu", "irq", "name", "interrupts_per_s", "median_ns", "longest_ns"),
    rows=_LINES,
)
def irq_gaps(timeline: Timeline) -> pd.DataFrame:
    """Time from one interrupt of a line to the next on the same CPU, vectors included.

    Parameters
    ----------
    timeline : Timeline
        The window and the CPUs in question.

    Returns
    -------
    pandas.DataFrame
        A row per cpu, irq_context, irq and name, most interrupts first: device (of a line),
        interrupts, interrupts_per_s (over the window), ns (their own time), gaps (how many were
        measured), mean_ns, median_ns, p90_ns, p99_ns, longest_ns (of the gaps, NA without any).

    Raises
    ------
    MissingEventsError
        Without one of the events it needs.

    Notes
    -----
    Source: hardirqs. What spans a gap of the record is not measured.
    """
    (hardirqs,) = rows(timeline, "hardirqs")
    irqs = plain(hardirqs[hardirqs["entry_ns"].notna()])
    irqs = irqs.sort_values(["cpu", "entry_ns"], kind="stable", ignore_index=True)
    irqs["gap_ns"] = gaps_between(irqs, record_gaps(timeline))
    irqs = irqs.rename(columns={"context": "irq_context"})
    keys = ["cpu", "irq_context", "irq", "name"]
    groups = irqs.groupby(keys, dropna=False)
    table = pd.DataFrame(
        {
            "device": groups["device"].first(),
            "interrupts": groups.size().astype("int64"),
            "ns": groups["self_ns"].sum().astype("int64"),
            "gaps": groups["gap_ns"].count().astype("int64"),
        }
    ).join(spread_of(irqs, keys, "gap_ns"))
    seconds = timeline.duration_ns / 1e9 or float("nan")
    table.insert(2, "interrupts_per_s", table["interrupts"] / seconds)
    table = table.sort_values("interrupts", ascending=False, kind="stable")
    return table.reset_index()


@irq_gaps.figures
def _figures(answer: "Answer[pd.DataFrame]") -> dict[str, Any]:
    measured = answer.frame[answer.frame["gaps"] > 0]
    of_devices = measured[measured["device"].notna()]
    # A device's busiest line, else the busiest of all.
    lines = of_devices if len(of_devices) else measured
    return {"line": next(iter(records(lines.head(1))), None)}


def _shown(answer: "Answer[pd.DataFrame]") -> pd.DataFrame:
    return answer.frame[answer.frame["gaps"] > 0].head(_LINES)


@irq_gaps.plot(
    title="Time between interrupts of a line",
    height=lambda answer: 1.2 + 0.33 * len(_shown(answer)),
    panels=lambda answer: [{}] if len(_shown(answer)) else [],
)
def _gaps(ax: "Axes", answer: "Answer[pd.DataFrame]") -> None:
    from .plots import spreads

    shown = _shown(answer)
    lines = records(shown.assign(of=" (" + shown["device"].astype("string") + ")"))
    labels = [f"{row['name']}{row['of'] or ''}, CPU {row['cpu']}" for row in lines]
    spreads(ax, shown, labels, "from one interrupt to the next of that line")
