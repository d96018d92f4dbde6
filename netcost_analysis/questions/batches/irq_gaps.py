# Time between interrupts of a line.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...spans import Spans
from ...stats.histogram import Histogram, histogram, merged
from ...timeline.timeline import Timeline
from ..folds import fold
from ..inputs import added
from ..question import question
from .common import plain, record_gaps, records, rounded_spread
from .line_gaps import LineGaps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..answer import Answer

_LINES = 8
_KEYS = ["cpu", "irq_context", "irq", "name"]


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
    found = _counted(timeline, record=record_gaps(timeline))
    assert found.lengths is not None
    table = found.counts.join(found.devices)[["device", "interrupts", "ns", "gaps"]]
    table = table.join(rounded_spread(found.lengths))
    seconds = timeline.duration_ns / 1e9 or float("nan")
    table.insert(2, "interrupts_per_s", table["interrupts"] / seconds)
    table = table.sort_values("interrupts", ascending=False, kind="stable")
    return table.reset_index()


class _Lines:
    # By _KEYS. counts: interrupts, ns, gaps (how many were measured); devices: of a line; lengths:
    # of the gaps.
    def __init__(self, record: Spans) -> None:
        self._gaps = LineGaps(record)
        self.counts: pd.DataFrame = pd.DataFrame()
        self.devices: pd.DataFrame = pd.DataFrame()
        self.lengths: Histogram | None = None

    def add(self, hardirqs: pd.DataFrame) -> None:
        rows = self._gaps.add(plain(hardirqs[hardirqs["entry_ns"].notna()]))
        rows = rows.rename(columns={"context": "irq_context"})
        known = rows["gap_ns"].notna()
        counts = rows[_KEYS].assign(interrupts=1, ns=rows["self_ns"], gaps=known)
        counts = counts.groupby(_KEYS, dropna=False).sum().astype("int64")
        devices = rows.groupby(_KEYS, dropna=False)[["device"]].first()
        if self.lengths is not None:
            counts = added(self.counts, counts)
            devices = pd.concat([self.devices, devices])
            devices = devices.groupby(level=_KEYS, dropna=False).first()
        self.counts, self.devices = counts, devices
        lengths = histogram(rows.loc[known, "gap_ns"].astype("int64"), rows.loc[known, _KEYS])
        self.lengths = merged(self.lengths, lengths)


@fold("hardirqs")
def _counted(before: _Lines | None, hardirqs: pd.DataFrame, record: Spans) -> _Lines:
    state = before or _Lines(record)
    state.add(hardirqs)
    return state


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
