# Captures that are far from others like them, and which part of a packet's cost makes it.

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...fleet import Fleet
from ...plots.palette import KIND, OUTCOME, time_unit
from ...stats.resampling import Floats
from .captures import LONGEST, capture_costs, command_for, require_answers, shown_time

# A part that makes so much of a difference is named.
_NAMED = 0.25
# More of these in NET_RX than others have, as a share, are named too.
_SQUEEZED = 0.01
# What a packet's cost is expected to do where batches grow and others' tell nothing: half of it is
# the poll's, which packets share.
_SLOPE = -0.5
# Batches of others have to differ by so much to tell, as a standard deviation of logarithms.
_SPREAD = 0.05
# With what each is called.
PARTS = {"batch_part": "batch size", "poll_part": "poll cost", "interrupt_part": "interrupts"}


def parts_of(row: Mapping[Any, Any], others: pd.DataFrame) -> dict[str, Any]:
    # What makes a capture's ns_per_work differ from the median of others: each as a part of that
    # median, so that they add up to the whole difference.
    known = others[others["ns_per_work"].notna() & others["batch_mean"].notna()]
    usual = known[["ns_per_work", "interrupt_ns_per_work", "batch_mean"]].median()
    median = float(usual["ns_per_work"])
    own_interrupt, interrupt = (float(of["interrupt_ns_per_work"]) for of in (row, usual))
    poll, usual_poll = float(row["ns_per_work"]) - own_interrupt, median - interrupt
    expected = usual_poll * (float(row["batch_mean"]) / float(usual["batch_mean"])) ** _slope(known)
    parts = {
        "batch_part": (expected - usual_poll) / median,
        "poll_part": (poll - expected) / median,
        "interrupt_part": (own_interrupt - interrupt) / median,
    }
    squeezes = row["squeezed_share"] - others["squeezed_share"].median() > _SQUEEZED
    return parts | {"because": _because(parts, bool(squeezes))}


def _slope(known: pd.DataFrame) -> float:
    # How a packet's cost in polls goes with the batch: 0 where each packet costs the same, -1 where
    # a poll does. Theil and Sen: the median of the slopes between pairs of captures.
    from scipy import stats

    batch = np.log(known["batch_mean"].to_numpy("float64"))
    price = np.log((known["ns_per_work"] - known["interrupt_ns_per_work"]).to_numpy("float64"))
    if len(known) < 2 or batch.std() < _SPREAD:
        return _SLOPE
    return float(np.clip(stats.theilslopes(price, batch).slope, -1, 0))


def _because(parts: Mapping[str, float], squeezes: bool) -> str:
    # The parts that make the difference, the largest first.
    whole = sum(parts.values())
    named = [
        PARTS[name]
        for name, part in sorted(parts.items(), key=lambda one: -abs(one[1]))
        if part * whole > 0 and abs(part) >= _NAMED * abs(whole)
    ]
    return ", ".join([*named, *["squeezes"] * squeezes])


METRICS = ("ns_per_work", "stolen_of_tasks_share")
# So many captures of a kernel and driver make a group; of fewer, all of the driver's do.
_LEAST = 8
# Robust standard deviations: of normal ones 6 in ten million are so far.
_FAR = 5.0
# Makes the median absolute deviation the standard deviation where observations are normal.
_SCALE = 1.4826
# A deviation below this part of the median is taken for this: what is measured is no finer.
_FINEST = 0.01
_COLUMNS = [
    *("path", "hostname", "kernel", "device", "driver", "recorded_at", "metric", "metric_value"),
    *("group_median", "ratio", "robust_deviations", "group_captures"),
    *(*PARTS, "because", "command"),
]


@question(
    topic="fleet",
    check=require_answers,
    rows=40,
    columns=(
        *("path", "metric", "metric_value", "group_median", "because", "robust_deviations"),
        *("hostname", "kernel", "driver", "ratio", "command"),
    ),
)
def outliers(fleet: Fleet, far: float = _FAR) -> Answer:
    """Captures far from others of their kernel and driver, and the part of the cost that differs.

    A row per capture and metric, the farthest first. far: the distance from the median in robust
    standard deviations, 1.4826 x the median absolute deviation, of logarithms.

    A group has one kernel and driver. If that has fewer than 8 captures, the group has one driver,
    and `because` says where the capture's kernel differs from that of most. If that has fewer too,
    the group is all captures. For stolen_of_tasks_share `because` says whether packets came faster
    or cost more. Source: the fleet's answers and devices.
    """
    rows = capture_costs(fleet)
    outlying = [row for metric in METRICS for row in _far(rows, metric, far)]
    frame = pd.DataFrame(outlying, columns=_COLUMNS)
    frame = frame.sort_values(
        "robust_deviations", key=abs, ascending=False, kind="stable", ignore_index=True
    )
    reasons = frame.groupby(["metric", "because"]).agg(
        captures=("path", "size"), hosts=("hostname", "nunique"), path=("path", "first")
    )
    reasons = reasons.sort_values("captures", ascending=False, kind="stable").reset_index()
    return Answer(frame, outlying_captures=int(frame["path"].nunique()), by_because=reasons)


def _far(rows: pd.DataFrame, metric: str, far: float) -> Iterator[dict[str, Any]]:
    known = rows[(rows[metric] > 0) & rows["batch_mean"].notna()]
    for _, of_driver in known.groupby("driver"):
        for _, alike in of_driver.groupby("kernel"):
            group = next((one for one in (alike, of_driver) if len(one) >= _LEAST), known)
            if len(group) < _LEAST:
                continue
            far_off = pd.Series(deviations(group[metric].to_numpy("float64")), group.index)
            for at in alike.index[far_off[alike.index].abs() >= far]:
                yield _row(group, at, metric, float(far_off[at]))


def deviations(values: Floats) -> Floats:
    # How many robust standard deviations each is from their median, as factors.
    logs = np.log(values)
    off: Floats = logs - np.median(logs)
    return off / max(_SCALE * float(np.median(np.abs(off))), _FINEST)


def _row(group: pd.DataFrame, at: Any, metric: str, far_off: float) -> dict[str, Any]:
    row = group.loc[at]
    others = group.drop(index=at)
    median = float(group[metric].median())
    named = ["path", "hostname", "kernel", "device", "driver"]
    if metric == "ns_per_work":
        why = parts_of(row, others)
    else:
        why = dict.fromkeys(PARTS, float("nan")) | {"because": _stolen_because(row, others)}
    kernels = group["kernel"].value_counts()
    if len(kernels) > 1 and kernels.index[0] != row["kernel"]:
        why["because"] = ", ".join(filter(None, (why["because"], "other kernel")))
    return {
        **{name: row[name] for name in named},
        "recorded_at": shown_time(group.loc[[at], "recorded_at"]).iloc[0],
        "metric": metric,
        "metric_value": float(row[metric]),
        "group_median": median,
        "ratio": float(row[metric]) / median,
        "robust_deviations": far_off,
        "group_captures": len(group),
        **why,
        "command": command_for(str(row["path"])),
    }


def _stolen_because(row: "pd.Series[Any]", others: pd.DataFrame) -> str:
    # What of the share goes with more packets, and what with dearer ones.
    usual = others[["packets_per_s", "ns_per_work", "stolen_of_tasks_share"]].median()
    whole = np.log(row["stolen_of_tasks_share"] / usual["stolen_of_tasks_share"])
    parts = {
        "packet rate": np.log(row["packets_per_s"] / usual["packets_per_s"]),
        "packet cost": np.log(row["ns_per_work"] / usual["ns_per_work"]),
    }
    return ", ".join(name for name, part in parts.items() if part * whole > 0.25 * whole**2)


@outliers.plot(
    title="CPU time of a packet in each capture, by kernel and driver; outliers in red",
    height=3.4,
    panels=lambda answer: [{}] if len(answer.frame) else [],
)
def _plot(ax: Axes, answer: Answer) -> None:
    # A point for each capture, a row for each kernel and driver.
    from ...plots.marks import label_rows, short

    rows = capture_costs(answer.asked)
    outlying = answer.frame.loc[answer.frame["metric"] == "ns_per_work", "path"]
    known = rows[rows["ns_per_work"] > 0]
    scale, unit = time_unit(float(known["ns_per_work"].median()))
    names = []
    for place, ((kernel, driver), of) in enumerate(known.groupby(["kernel", "driver"])):
        names.append(short(f"{kernel}, {driver}", LONGEST))
        far = of["path"].isin(outlying)
        # Spread over the row, so that points that lie on each other are seen.
        across = place + 0.5 * ((np.arange(len(of)) * 0.618) % 1 - 0.5)
        values = of["ns_per_work"] / scale
        ax.plot(values[~far], across[~far], "o", color=KIND["softirq"], markersize=3, alpha=0.6)
        ax.plot(values[far], across[far], "o", color=OUTCOME["worse"], markersize=5)
    label_rows(ax, names)
    ax.set_xlim(left=0)
    ax.set_xlabel(f"CPU time of a packet, {unit}")
    ax.grid(axis="x")
