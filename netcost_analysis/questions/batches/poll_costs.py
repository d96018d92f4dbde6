# What a poll costs however few packets it has, and a packet in batches of so many.

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from ... import plots
from ...answers.form import each
from ...answers.question import Answer, question
from ...display.tables import listed
from ...display.templates import as_text, render
from ...errors import ArgumentError
from ...frames import most_first
from ...stats.line import Line, Parts, line_of
from ...stats.resampling import Floats, Ints, middle
from ...timeline.by import DeviceBy, check_by
from ...timeline.timeline import Timeline
from .paired import INPUTS, NO_WORK, Gathered, gathered
from .poll_sizes import TIMED, mean_batch, times_by_work

# The devices that are drawn, those with most packets.
_DEVICES = 3
_SIZES = (1, 2, 4, 8, 16, 32, 64)
# The most packets of a poll, as a rule: beyond that the line is a guess.
_MAX_TOGETHER = 64
_PRICES = ("device", "batch", "packet_ns", "packet_low_ns", "packet_high_ns", "fixed_share")
# What a line needs: docs/definitions.md says why.
MIN_POLLS, MIN_WORKS, MIN_SPREAD = 200, 5, 0.2
_WHY = Path(__file__).with_name("poll_costs_why.md")


@question(
    needs=("softirqs", "polls"),
    allow_zero=("min_polls", "min_works"),
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
) -> Answer:
    """Per device, the fixed cost of a poll and the marginal cost of a packet, with intervals.

    A row per device, most packets first; by="cpu": per device and CPU. There is no line with fewer
    than min_polls polls with packets, or fewer than min_works different batch sizes. Nor is there
    one where the standard deviation is below min_spread of the mean batch. Then its columns are NA,
    and refused and why give the reason.

    The line is a least-squares fit of self_ns on work. The intervals hold 95 % of 2,000 resamples
    of stretches of neighbouring polls (seeded). Interrupts and the softirq's own time are measured
    for each poll, not fitted. Definitions: docs/definitions.md. Source: polls, softirqs and
    hardirqs.
    """
    check_by(by, DeviceBy)
    frame = costs_from(gathered(timeline), by, (min_polls, min_works, min_spread))
    marginal = frame["marginal_ns"].where(frame["marginal_ns"] > 0)
    return Answer(frame.assign(even_batch=(around_ns(frame) + frame["fixed_ns"]) / marginal))


_COUNTS = ("cpu", "polls", "packets", "empty_polls", "distinct_batches", "largest_batch")
_MEASURED = (
    *("batch_mean", "batch_spread", "poll_mean_ns", "empty_poll_ns", "fixed_ns", "fixed_low_ns"),
    *("fixed_high_ns", "marginal_ns", "marginal_low_ns", "marginal_high_ns", "r_squared"),
    *("irqs_per_poll", "irq_per_poll_ns", "outside_polls_per_poll_ns"),
)
_COLUMNS = ["device", *_COUNTS, *_MEASURED, "doubt", "refused", "why"]
_TYPES = dict.fromkeys(_COUNTS, "Int64") | dict.fromkeys(_MEASURED, "float64")


def costs_from(
    work: Gathered,
    by: DeviceBy = "device",
    limits: tuple[int, int, float] = (MIN_POLLS, MIN_WORKS, MIN_SPREAD),
) -> pd.DataFrame:
    # The frame of poll_costs.
    keys = ["device", "cpu"] if by == "cpu" else ["device"]
    sizes = work.sizes.groupby(level=[*keys, "work"]).sum()
    owners = sizes.groupby(level=keys).size().index
    around = work.around.groupby(level=keys).sum().reindex(owners, fill_value=0)
    # Interrupts that raised the softirqs of these polls, and all of the device's own lines.
    lines = work.lines.groupby(keys)[["irqs", "irq_ns"]].sum().reindex(owners, fill_value=0)
    around["irqs"] = around["raised"] + lines["irqs"].astype("float64")
    around["irq_ns"] += lines["irq_ns"].astype("float64")
    rows = []
    key: Any
    for key, measured in around.iterrows():
        device, cpu = key if by == "cpu" else (key, None)
        parts = partial(work.stretches.parts, device, cpu)
        row = _row(sizes.loc[key], measured, parts, limits)
        rows.append({"device": device, "cpu": cpu, **row})
    return most_first(pd.DataFrame(rows, columns=_COLUMNS).astype(_TYPES), "packets")


def _row(
    sizes: pd.DataFrame,
    around: "pd.Series[float]",
    parts: Callable[[Ints], Parts],
    limits: tuple[int, int, float],
) -> dict[str, object]:
    # sizes: of Gathered, by work. parts: of the polls that a line is fitted to.
    known = sizes[sizes.index != NO_WORK]
    batch, full = _batches_of(sizes)
    empty = known.loc[known.index == 0].sum()
    number, polls = int(full["whole"].sum()), int(sizes["polls"].sum())
    count, has_work = max(polls, 1), bool(known["polls"].any())
    mean = np.average(batch, weights=full["whole"]) if number else np.nan
    spread = np.sqrt(np.average((batch - mean) ** 2, weights=full["whole"])) if number else np.nan
    row: dict[str, Any] = {
        "polls": polls,
        "packets": int((known["polls"] * known.index).sum()) if has_work else None,
        "empty_polls": int(empty["whole"]) if has_work else None,
        "distinct_batches": len(batch),
        "largest_batch": int(batch[-1]) if number else None,
        "batch_mean": mean_batch(known["polls"]),
        "batch_spread": spread / mean,
        "poll_mean_ns": full["whole_ns"].sum() / number if number else None,
        "empty_poll_ns": empty["whole_ns"] / empty["whole"] if empty["whole"] else None,
        "irqs_per_poll": around["irqs"] / count,
        "irq_per_poll_ns": around["irq_ns"] / count,
        "outside_polls_per_poll_ns": around["outside_polls_ns"] / count,
    }
    min_polls, min_works, min_spread = limits
    refusals = {
        "no work field": not has_work,
        "few polls": number < min_polls,
        "few sizes": len(batch) < min_works,
        "similar sizes": row["batch_spread"] < min_spread,
    }
    figures = {"min_polls": min_polls, "min_works": min_works, "min_spread": min_spread}
    row["refused"] = next((why for why, holds in refusals.items() if holds), None)
    if row["refused"] is None:
        line = line_of(parts(batch))
        row |= _figures(line)
        figures |= line.bent._asdict() if line.bent else {}
    if row["refused"] or row.get("doubt"):
        row["why"] = as_text(render(_WHY, {"with_packets": number, **figures, **row}))
    return row


def _batches_of(sizes: pd.DataFrame) -> tuple[Ints, pd.DataFrame]:
    # The batches that a line is fitted to, rising, and their rows of Gathered.sizes by work.
    full = sizes[(sizes.index > 0) & (sizes["whole"] > 0)].sort_index()
    return full.index.to_numpy(dtype="int64"), full


def _figures(line: Line) -> dict[str, object]:
    # A line with a cost below 0 is refused.
    if line.fixed_ns < 0 or line.marginal_ns < 0:
        return {"refused": "fixed below 0" if line.fixed_ns < 0 else "marginal below 0"}
    fixed_low, fixed_high = middle(line.fixed)
    marginal_low, marginal_high = middle(line.marginal)
    bent = "not straight" if line.bent else None
    return {
        "fixed_ns": line.fixed_ns,
        "fixed_low_ns": fixed_low,
        "fixed_high_ns": fixed_high,
        "marginal_ns": line.marginal_ns,
        "marginal_low_ns": marginal_low,
        "marginal_high_ns": marginal_high,
        "r_squared": line.r_squared,
        "doubt": "marginal may be 0" if marginal_low < 0 else bent,
    }


def without_doubt(costs: pd.DataFrame) -> pd.DataFrame:
    # The rows with a line that may be used.
    return costs[costs["refused"].isna() & costs["doubt"].isna()]


def around_ns(cost: Any) -> Any:
    # Measured around a poll: the interrupt, and the softirq outside polls. cost: of poll_costs.
    return cost["irq_per_poll_ns"] + cost["outside_polls_per_poll_ns"]


Cost = TypeVar("Cost", float, Floats)


def _packet_ns(around: float, fixed: Cost, marginal: Cost, size: float) -> Cost:
    # The price of a packet, which is that in batches of some size.
    return (around + fixed) / size + marginal


def _with_polls(answer: Answer, rows: pd.DataFrame) -> list[dict[str, Any]]:
    keys = ["device", "cpu"] if rows["cpu"].notna().any() else ["device"]
    return [panel for panel in listed(rows[keys]) if len(_of_panel(answer, **panel))]


def _of_panel(answer: Answer, device: str, cpu: int | None = None) -> pd.DataFrame:
    return times_by_work(TIMED(answer.timeline).lengths, device, cpu)


@poll_costs.plot(
    title=lambda _, device, cpu=None: f"Own time of polls of {device}, by packets received",
    height=3.0,
    panels=lambda answer: _with_polls(answer, answer.frame.head(_DEVICES)),
    choices=lambda answer: _with_polls(answer, answer.frame),
)
def _line(ax: "plots.Axes", answer: Answer, device: str, cpu: int | None = None) -> None:
    costs = answer.frame[answer.frame["device"] == device]
    row = costs if cpu is None else costs[costs["cpu"] == cpu]
    plots.batches.poll_cost(ax, _of_panel(answer, device, cpu), row.iloc[0])
    ax.set_title(device if cpu is None else f"{device}, CPU {cpu}", pad=24)


@question(needs=("softirqs", "polls"), inputs=INPUTS, columns=_PRICES, rows=len(_SIZES))
def packet_costs(timeline: Timeline, sizes: tuple[int, ...] = _SIZES) -> Answer:
    """What a packet costs by batch size, from the line of poll_costs and what was measured.

    A row per size and device whose line is not in doubt. packet_ns = (interrupt + softirq outside
    polls + fixed) / batch + marginal; its ends are 95 % of the line's resamples. seen: whether
    polls as small and as large as that occurred. Source: poll_costs.
    """
    if any(size < 1 for size in sizes):
        raise ArgumentError("a batch has at least one packet")
    work, rows = gathered(timeline), []
    for cost in without_doubt(costs_from(work)).to_dict("records"):
        device, around = cost["device"], around_ns(cost)
        batch, _ = _batches_of(work.sizes.loc[[device]].groupby(level="work").sum())
        line = line_of(work.stretches.parts(device, None, batch))
        for size in sizes:
            total = _packet_ns(around, line.fixed_ns, line.marginal_ns, size)
            low, high = middle(_packet_ns(around, line.fixed, line.marginal, size))
            share = 1 - line.marginal_ns / total if total > 0 else float("nan")
            seen = bool(batch.min() <= size <= batch.max())
            # Resamples of a line do not know that a price is above 0.
            rows.append((device, size, total, max(low, 0.0), high, share, seen))
    return Answer(pd.DataFrame(rows, columns=[*_PRICES, "seen"]))


def alone_and_together(cost: Any) -> dict[str, float]:
    # What a packet costs that comes alone, and one of the largest batch. cost: a row of poll_costs
    # with a line.
    together = min(int(cost["largest_batch"]), _MAX_TOGETHER)
    alone_ns, together_ns = (
        _packet_ns(around_ns(cost), float(cost["fixed_ns"]), float(cost["marginal_ns"]), size)
        for size in (1, together)
    )
    return {"alone_ns": alone_ns, "together": together, "together_ns": together_ns}


@packet_costs.plot(
    title=lambda _, device: f"Cost of a packet of {device}, by batch size",
    height=2.6,
    panels=lambda answer: each("device")(answer)[:_DEVICES],
    choices=each("device"),
)
def _by_batch(ax: "plots.Axes", answer: Answer, device: str) -> None:
    plots.batches.packet_cost(ax, answer.frame[answer.frame["device"] == device])
    ax.set_title(device, pad=24)
