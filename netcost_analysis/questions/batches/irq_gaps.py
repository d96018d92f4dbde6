# Time between interrupts of a line.

from typing import TYPE_CHECKING

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...display.tables import listed
from ...timeline.aggregates import Grouped
from ...timeline.group import KNOWN
from ...timeline.timeline import Timeline
from .common import rounded_spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES = 8
_KEYS = ["cpu", "irq_context", "irq", "name"]
_BY = ("cpu", "context", "irq", "name")
# Of one line and CPU all have one device; null where that is not known.
_COUNTED = Grouped(
    "hardirqs", by=(*_BY, "device"), sums=("self_ns",), known=("gap_ns",), where={"entry_ns": KNOWN}
)
_GAPS = Grouped("hardirqs", by=_BY, lengths="gap_ns", where={"gap_ns": KNOWN})


@question(
    needs=("irq:irq_handler_entry", "irq:irq_handler_exit"),
    inputs=(_COUNTED, _GAPS),
    columns=("cpu", "irq", "name", "interrupts_per_s", "median_ns", "longest_ns"),
    rows=_LINES,
)
def irq_gaps(timeline: Timeline) -> Answer:
    """Time from one interrupt of a line to the next on the same CPU, vectors included.

    A row per CPU and line or vector, most interrupts first. What spans a gap of the record is not
    measured. Source: hardirqs.
    """
    counted = _COUNTED(timeline).frame.rename(
        columns={"context": "irq_context", "hardirqs": "interrupts", "gap_ns_known": "gaps"}
    )
    lines = counted.groupby(_KEYS, dropna=False)
    table = lines[["device"]].first().join(lines[["interrupts", "ns", "gaps"]].sum())
    spread = rounded_spread(_GAPS(timeline).lengths).rename_axis(_KEYS).reset_index()
    table = table.reset_index().merge(spread, on=_KEYS, how="left")
    seconds = timeline.duration_ns / 1e9 or float("nan")
    table.insert(6, "interrupts_per_s", table["interrupts"] / seconds)
    order = table.sort_values("interrupts", ascending=False, kind="stable", ignore_index=True)
    return Answer(order)


def _shown(answer: Answer) -> pd.DataFrame:
    return answer.frame[answer.frame["gaps"] > 0].head(_LINES)


@irq_gaps.plot(
    title="Time between interrupts of a line",
    height=lambda answer: 1.2 + 0.33 * len(_shown(answer)),
    panels=lambda answer: [{}] if len(_shown(answer)) else [],
)
def _gaps(ax: "Axes", answer: Answer) -> None:
    from ...plots.softirqs import spreads

    shown = _shown(answer)
    labels = [
        f"{row['name']}{' (' + row['device'] + ')' if row['device'] else ''}, CPU {row['cpu']}"
        for row in listed(shown)
    ]
    spreads(ax, shown, labels, "from one interrupt to the next of that line")
