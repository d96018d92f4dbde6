# What a poll costs however few packets it has.

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from ...answers.question import question
from ...display.templates import as_text, render
from ...stats.line import Line, Parts, line_of
from ...stats.resampling import Floats, Ints, middle
from ...timeline.by import DeviceBy, check_by
from ...timeline.timeline import Timeline
from .common import called, records
from .paired import INPUTS, paired
from .poll_sizes import TIMED, mean_batch, times_by_work
from .poll_sums import NO_WORK, Gathered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

# So many devices are shown and drawn, those with most packets.
_DEVICES = 3
# Where one of these is not met there is no line: docs/definitions.md says why these.
MIN_POLLS, MIN_WORKS, MIN_SPREAD = 200, 5, 0.2
_WHY = Path(__file__).with_name("poll_costs_why.md")


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit", "napi:napi_poll"),
    may_be_0=("min_polls", "min_works"),
    inputs=(*INPUTS, TIMED),
    columns=("device", "fixed_ns", "marginal_ns", "batch_mean", "doubt", "refused"),
    rows=0,
)
def poll_costs(
    timeline: Timeline,
    by: DeviceBy = "device",
    min_polls: int = MIN_POLLS,
    min_works: int = MIN_WORKS,
    min_spread: float = MIN_SPREAD,
) -> pd.DataFrame:
    """Per device, the fixed cost of a poll and the marginal cost of a packet, with intervals.

    - by: A row per device, cpu NA; or per device and CPU.
    - min_polls, min_works, min_spread: With fewer polls with packets, fewer different batch sizes,
      or a standard deviation below this part of the mean batch there is no line: its columns are
      NA, and refused and why say so.

    Columns: docs/columns.md; most packets first.

    Source: polls, softirqs and hardirqs. The line is of self_ns on work, by least squares; the
    intervals hold 95 % of 2,000 resamples of stretches of neighbouring polls (seeded). Interrupts
    and the softirq's own time are not fitted but measured, for each poll: irq_per_poll_ns,
    outside_polls_per_poll_ns. Definitions: docs/definitions.md.
    """
    check_by(by, DeviceBy)
    frame = costs_from(gathered(timeline), by, (min_polls, min_works, min_spread))
    lines = frame["refused"].isna()
    frame["even_batch"] = [
        even_batch(row) if line else float("nan")
        for line, (_, row) in zip(lines, frame.iterrows(), strict=True)
    ]
    return frame


def gathered(timeline: Timeline) -> Gathered:
    # Polls with their share of what surrounds them.
    return paired(timeline).gathered


def costs_from(
    work: Gathered,
    by: DeviceBy = "device",
    limits: tuple[int, int, float] = (MIN_POLLS, MIN_WORKS, MIN_SPREAD),
) -> pd.DataFrame:
    # poll_costs() of what was gathered.
    keys = ["device", "cpu"] if by == "cpu" else ["device"]
    around = work.around.groupby(level=keys).sum()
    rows = []
    key: Any
    for key, sizes in work.sizes.groupby(level=keys, sort=True):
        name, cpu = (*key, None)[:2]
        lines = work.lines[work.lines["device"] == name]
        if cpu is not None:
            lines = lines[lines["cpu"] == cpu]
        at = key if len(keys) > 1 else name
        own = around.loc[at] if at in around.index else around.sum() * 0
        sizes = sizes.groupby(level="work").sum()
        parts = partial(work.stretches.parts, name, cpu)
        rows.append({"device": name, "cpu": cpu, **_row(sizes, own, lines, parts, limits)})
    table = pd.DataFrame(rows, columns=["device", "cpu", *_COLUMNS])
    counts = ("cpu", *_COLUMNS[: _COLUMNS.index("batch_mean")])
    kinds = dict.fromkeys(counts, "Int64")
    kinds |= dict.fromkeys(_COLUMNS[_COLUMNS.index("batch_mean") : -3], "float64")
    table = table.astype(kinds)
    return table.sort_values("packets", ascending=False, kind="stable", ignore_index=True)


_COLUMNS = [
    *("polls", "packets", "empty_polls", "distinct_batches", "largest_batch"),
    *("batch_mean", "batch_spread"),
    *("poll_mean_ns", "empty_poll_ns", "fixed_ns", "fixed_low_ns", "fixed_high_ns"),
    *("marginal_ns", "marginal_low_ns", "marginal_high_ns", "r_squared"),
    *("irqs_per_poll", "irq_per_poll_ns", "outside_polls_per_poll_ns"),
    *("doubt", "refused", "why"),
]


def _row(
    sizes: pd.DataFrame,
    around: "pd.Series[float]",
    lines: pd.DataFrame,
    parts: Callable[[Ints], Parts],
    limits: tuple[int, int, float],
) -> dict[str, object]:
    # sizes: of Gathered, by work. parts: of the polls that a line is laid through.
    known = sizes[sizes.index != NO_WORK]
    batch, full = batches_of(sizes)
    empty = known.loc[known.index == 0].sum()
    number = int(full["whole"].sum())
    count, has_work = max(int(sizes["polls"].sum()), 1), bool(known["polls"].any())
    mean, spread = _mean_and_spread(batch, full["whole"])
    row: dict[str, object] = {
        "polls": int(sizes["polls"].sum()),
        "packets": int((known["polls"] * known.index).sum()) if has_work else None,
        "empty_polls": int(empty["whole"]) if has_work else None,
        "distinct_batches": len(batch),
        "largest_batch": int(batch[-1]) if len(batch) else None,
        "batch_mean": mean_batch(known["polls"]),
        "batch_spread": spread / mean if number else None,
        "poll_mean_ns": full["whole_ns"].sum() / number if number else None,
        "empty_poll_ns": empty["whole_ns"] / empty["whole"] if empty["whole"] else None,
        "irqs_per_poll": (lines["irqs"].sum() + around["raised"]) / count,
        "irq_per_poll_ns": (lines["irq_ns"].sum() + around["irq_ns"]) / count,
        "outside_polls_per_poll_ns": around["outside_polls_ns"] / count,
        "refused": _refusal(number, len(batch), spread / mean, has_work, *limits),
    }
    figures: dict[str, Any] = {**row, "with_packets": number}
    figures |= dict(zip(("min_polls", "min_works", "min_spread"), limits, strict=True))
    if row["refused"] is None:
        line = line_of(parts(batch))
        row["refused"] = _no_price(line)
        row |= _line(line) if row["refused"] is None else {}
        figures |= row | (line.bent._asdict() if line.bent else {})
    if row["refused"] or row.get("doubt"):
        row["why"] = as_text(render(_WHY, figures))
    return row


def batches_of(sizes: pd.DataFrame) -> tuple[Ints, pd.DataFrame]:
    # The batches that a line can be laid through, rising, and their rows of Gathered.sizes by work.
    full = sizes[(sizes.index > 0) & (sizes["whole"] > 0)].sort_index()
    return full.index.to_numpy(dtype="int64"), full


def _mean_and_spread(batch: Ints, polls: "pd.Series[int]") -> tuple[float, float]:
    # Of the batches, so many polls each: NaN without any.
    count = polls.to_numpy(dtype="float64")
    if not len(batch):
        return float("nan"), float("nan")
    mean = float((batch * count).sum() / count.sum())
    return mean, float(np.sqrt(((batch - mean) ** 2 * count).sum() / count.sum()))


def _refusal(
    polls: int,
    works: int,
    spread: float,
    has_work: bool,
    min_polls: int,
    min_works: int,
    min_spread: float,
) -> str | None:
    # Why no line can be laid through these polls; None where one can. spread: over the mean batch.
    if not has_work:
        return "no work field"
    if polls < min_polls:
        return "few polls"
    if works < min_works:
        return "few sizes"
    return "similar sizes" if spread < min_spread else None


def _no_price(line: Line) -> str | None:
    # Nothing costs less than nothing: why the line is none of costs.
    if line.fixed_ns < 0:
        return "fixed below 0"
    return "marginal below 0" if line.marginal_ns < 0 else None


def _line(line: Line) -> dict[str, object]:
    fixed_low, fixed_high = middle(line.fixed)
    marginal_low, marginal_high = middle(line.marginal)
    doubt = None
    if marginal_low < 0:
        doubt = "marginal may be 0"
    elif line.bent is not None:
        doubt = "not straight"
    return {
        "fixed_ns": line.fixed_ns,
        "fixed_low_ns": fixed_low,
        "fixed_high_ns": fixed_high,
        "marginal_ns": line.marginal_ns,
        "marginal_low_ns": marginal_low,
        "marginal_high_ns": marginal_high,
        "r_squared": line.r_squared,
        "doubt": doubt,
    }


def around_ns(cost: Any) -> float:
    # Of a row of poll_costs, measured around a poll: the interrupt, and the softirq outside polls.
    return float(cost["irq_per_poll_ns"] + cost["outside_polls_per_poll_ns"])


Cost = TypeVar("Cost", float, Floats)


def packet_ns(around: float, fixed: Cost, marginal: Cost, size: float) -> Cost:
    # What a packet costs in batches of that size: the only price of a packet there is.
    return (around + fixed) / size + marginal


def even_batch(cost: Any) -> float:
    # Of a row of poll_costs the batch from which on packets are more than half of the cost; NaN
    # where they cost nothing.
    own = float(cost["marginal_ns"])
    return (around_ns(cost) + float(cost["fixed_ns"])) / own if own > 0 else float("nan")


@poll_costs.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    rows = records(answer.frame)
    for row in rows:
        row["called"] = called(row["device"])
    return {"costs": rows[:_DEVICES], "more": len(rows[_DEVICES:])}


def _panels(answer: "Answer") -> list[dict[str, Any]]:
    return _with_polls(answer, answer.frame.head(_DEVICES))


def _with_polls(answer: "Answer", rows: pd.DataFrame) -> list[dict[str, Any]]:
    keys = ["device", "cpu"] if rows["cpu"].notna().any() else ["device"]
    return [panel for panel in records(rows[keys]) if len(_of_panel(answer, **panel))]


def _of_panel(answer: "Answer", device: str, cpu: int | None = None) -> pd.DataFrame:
    polls = TIMED(answer.timeline).lengths
    return times_by_work(polls, device, cpu)


def _title(answer: "Answer", device: str, cpu: int | None = None) -> str:
    return f"Own time of the polls of {device} by their packets"


@poll_costs.plot(
    title=_title,
    height=3.0,
    panels=_panels,
    choices=lambda answer: _with_polls(answer, answer.frame),
)
def _line_through_polls(ax: "Axes", answer: "Answer", device: str, cpu: int | None = None) -> None:
    from .plots_costs import poll_cost

    costs = answer.frame[answer.frame["device"] == device]
    row = costs if cpu is None else costs[costs["cpu"] == cpu]
    poll_cost(ax, _of_panel(answer, device, cpu), row.iloc[0])
    ax.set_title(device if cpu is None else f"{device}, CPU {cpu}", pad=24)
