# What a poll costs however few packets it has.

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from ...display.templates import as_text, render
from ...stats.line import Line, fit
from ...stats.resampling import Floats, middle
from ...timeline.by import DeviceBy, check_by
from ...timeline.timeline import Timeline
from ..inputs import once, rows, window_of
from ..question import question
from .common import called, floats, int64, net_rx, plain, records
from .poll_sizes import mean_batch, timed
from .softirq_chains import chains_from

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..answer import Answer

# So many devices are shown and drawn, those with most packets.
_DEVICES = 3
# Where one of these is not met there is no line: docs/definitions.md says why these.
MIN_POLLS, MIN_WORKS, MIN_SPREAD = 200, 5, 0.2
_WHY = Path(__file__).with_name("poll_costs_why.md")


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit", "napi:napi_poll"),
    may_be_0=("min_polls", "min_works"),
    inputs=("softirqs", "hardirqs", "polls"),
    main_columns=("device", "fixed_ns", "marginal_ns", "batch_mean", "doubt", "refused"),
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

    Parameters
    ----------
    timeline : Timeline
        The window and the CPUs in question.
    by : {"device", "cpu"}
        A row per device, cpu NA; or per device and CPU.
    min_polls, min_works, min_spread : int, int and float
        With fewer polls with packets, fewer different batch sizes, or a standard deviation below
        this part of the mean batch there is no line: its columns are NA, and refused and why say
        so.

    Returns
    -------
    pandas.DataFrame
        Columns: docs/columns.md; most packets first.

    Raises
    ------
    ArgumentError
        For another by.
    MissingEventsError
        Without one of the events it needs.

    Notes
    -----
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


class Gathered(NamedTuple):
    # polls: cpu, device, end_ns, work, self_ns; outside_polls_ns, irq_ns and raised, what of
    # the softirq's own time and of the interrupt that raised it falls to the poll; again,
    # whether the same softirq polled the same device once more; cut, whether the window holds
    # a part of it: no line is laid through these. lines: cpu, device, irqs, irq_ns of
    # devices' own interrupt lines, which are not in polls.
    polls: pd.DataFrame
    lines: pd.DataFrame


@once
def gathered(timeline: Timeline) -> Gathered:
    # Polls with their share of what surrounds them.
    softirqs, hardirqs, polls = rows(timeline, "softirqs", "hardirqs", "polls")
    window = int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"])
    table = plain(polls)
    table["device"] = table["device"].fillna("(no_device)")
    table["ordinal"] = int64(table["softirq_ordinal"])
    chains = chains_from(softirqs, hardirqs, polls)
    whole = net_rx(softirqs)
    of_line = _lines_with_device(hardirqs)
    # A line's interrupts are counted whole, below, whether they raised anything or not.
    by_line = chains["irq"].isin(of_line["irq"]) & (chains["irq_context"] == "hardirq")
    chains["raiser_ns"] = chains["irq_ns"].mask(by_line)
    shares = whole[["cpu", "ordinal", "outside_polls_ns", "polls"]].merge(
        chains[["cpu", "ordinal", "raiser_ns"]], on=["cpu", "ordinal"], how="left"
    )
    table = table.merge(shares, on=["cpu", "ordinal"], how="left")
    for name, of in (("outside_polls_ns", "outside_polls_ns"), ("irq_ns", "raiser_ns")):
        table[name] = (table[of].astype("Float64") / table["polls"]).fillna(0.0).astype("float64")
    table["raised"] = (table["raiser_ns"].notna() / table["polls"]).fillna(0.0).astype("float64")
    table = table.sort_values(["cpu", "end_ns"], kind="stable", ignore_index=True)
    inside = table["ordinal"] >= 0
    table["again"] = table.duplicated(["cpu", "ordinal", "device"], keep="last") & inside
    cut = (table["start_ns"] < window[0]) | (table["end_ns"] > window[1])
    table["cut"] = cut.fillna(False).astype(bool)
    columns = [
        *("cpu", "device", "end_ns", "work", "self_ns"),
        *("outside_polls_ns", "irq_ns", "raised", "again", "cut"),
    ]
    lines = of_line.groupby(["cpu", "device"])["self_ns"].agg(irqs="size", irq_ns="sum")
    return Gathered(table[columns], lines.reset_index())


def _lines_with_device(hardirqs: pd.DataFrame) -> pd.DataFrame:
    lines = plain(hardirqs[(hardirqs["context"] == "hardirq") & hardirqs["device"].notna()])
    return lines[["cpu", "irq", "device", "self_ns"]]


def costs_from(
    work: Gathered,
    by: DeviceBy = "device",
    limits: tuple[int, int, float] = (MIN_POLLS, MIN_WORKS, MIN_SPREAD),
) -> pd.DataFrame:
    # poll_costs() of what was gathered.
    keys = ["device", "cpu"] if by == "cpu" else ["device"]
    rows = []
    for key, group in work.polls.groupby(keys, sort=True):
        name, cpu = (*key, None)[:2]
        lines = work.lines[work.lines["device"] == name]
        if cpu is not None:
            lines = lines[lines["cpu"] == cpu]
        rows.append({"device": name, "cpu": cpu, **_row(group, lines, limits)})
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
    polls: pd.DataFrame, lines: pd.DataFrame, limits: tuple[int, int, float]
) -> dict[str, object]:
    known = polls[polls["self_ns"].notna() & polls["work"].notna() & ~polls["cut"]]
    full = known[known["work"] > 0]
    empty = known[known["work"] == 0]
    batch, ns = floats(full["work"]), floats(full["self_ns"])
    count = max(len(polls), 1)
    row: dict[str, object] = {
        "polls": len(polls),
        "packets": polls["work"].sum() if polls["work"].notna().any() else None,
        "empty_polls": len(empty) if polls["work"].notna().any() else None,
        "distinct_batches": len(np.unique(batch)),
        "largest_batch": int(batch.max()) if len(batch) else None,
        "batch_mean": mean_batch(polls["work"].value_counts()),
        "batch_spread": batch.std() / batch.mean() if len(batch) else None,
        "poll_mean_ns": ns.mean() if len(ns) else None,
        "empty_poll_ns": empty["self_ns"].astype("float64").mean() if len(empty) else None,
        "irqs_per_poll": (lines["irqs"].sum() + polls["raised"].sum()) / count,
        "irq_per_poll_ns": (lines["irq_ns"].sum() + polls["irq_ns"].sum()) / count,
        "outside_polls_per_poll_ns": polls["outside_polls_ns"].sum() / count,
        "refused": _refusal(batch, bool(polls["work"].notna().any()), *limits),
    }
    figures: dict[str, Any] = {**row, "with_packets": len(batch)}
    figures |= dict(zip(("min_polls", "min_works", "min_spread"), limits, strict=True))
    if row["refused"] is None:
        line = fit(batch, ns)
        row |= _line(line)
        figures |= row | (line.bent._asdict() if line.bent else {})
    if row["refused"] or row["doubt"]:
        row["why"] = as_text(render(_WHY, figures))
    return row


def _refusal(
    work: Floats, has_work: bool, min_polls: int, min_works: int, min_spread: float
) -> str | None:
    # Why no line can be laid through these polls; None where one can.
    if not has_work:
        return "no work field"
    if len(work) < min_polls:
        return "few polls"
    if len(np.unique(work)) < min_works:
        return "few sizes"
    return "similar sizes" if work.std() / work.mean() < min_spread else None


def _line(line: Line) -> dict[str, object]:
    fixed_low, fixed_high = middle(line.fixed)
    marginal_low, marginal_high = middle(line.marginal)
    doubt = None
    if line.fixed_ns < 0:
        doubt = "fixed below 0"
    elif marginal_low < 0:
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
def _figures(answer: "Answer[pd.DataFrame]") -> dict[str, Any]:
    rows = records(answer.frame)
    for row in rows:
        row["called"] = called(row["device"])
    return {"costs": rows[:_DEVICES], "more": len(rows[_DEVICES:])}


def _panels(answer: "Answer[pd.DataFrame]") -> list[dict[str, Any]]:
    return _with_polls(answer, answer.frame.head(_DEVICES))


def _with_polls(answer: "Answer[pd.DataFrame]", rows: pd.DataFrame) -> list[dict[str, Any]]:
    keys = ["device", "cpu"] if rows["cpu"].notna().any() else ["device"]
    return [panel for panel in records(rows[keys]) if len(_of_panel(answer, **panel))]


def _of_panel(answer: "Answer[pd.DataFrame]", device: str, cpu: int | None = None) -> pd.DataFrame:
    polls = timed(answer.timeline, window=window_of(answer.timeline))
    here = polls["device"] == device
    return polls[here if cpu is None else here & (polls["cpu"] == cpu)]


def _title(answer: "Answer[pd.DataFrame]", device: str, cpu: int | None = None) -> str:
    return f"Own time of the polls of {device} by their packets"


@poll_costs.plot(
    title=_title,
    height=3.0,
    panels=_panels,
    choices=lambda answer: _with_polls(answer, answer.frame),
)
def _line_through_polls(
    ax: "Axes", answer: "Answer[pd.DataFrame]", device: str, cpu: int | None = None
) -> None:
    from .plots_costs import poll_cost

    costs = answer.frame[answer.frame["device"] == device]
    row = costs if cpu is None else costs[costs["cpu"] == cpu]
    poll_cost(ax, _of_panel(answer, device, cpu), row.iloc[0])
    ax.set_title(device if cpu is None else f"{device}, CPU {cpu}", pad=24)
