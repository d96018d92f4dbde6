# Captures that are far from others like them, and which part of their cost makes it.

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...answers.question import question
from ...fleet.fleet import Fleet
from ...stats.outliers import deviations
from ..batches.common import records
from .costs import require_answers
from .measured import command_for, measured, shown_time
from .parts import PARTS, parts_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

METRICS = ("ns_per_work", "stolen_of_tasks_share")
# So many captures of a kernel and driver make a group; of fewer, all of the driver's do.
LEAST = 8
# Robust standard deviations: of normal ones 6 in ten million are so far.
FAR = 5.0
# So many are named in words.
_SHOWN = 8
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
def outliers(fleet: Fleet, far: float = FAR) -> pd.DataFrame:
    """Captures far from others of their kernel and driver, and which part of the cost makes it.

    - far: How many robust standard deviations from the median are far.

    A row per capture and metric (ns_per_work, stolen_of_tasks_share), the farthest first: path,
    hostname, kernel, device, driver, recorded_at, metric, metric_value, group_median, ratio,
    robust_deviations, group_captures, batch_part, poll_part, interrupt_part, because, command.

    A group is of one kernel and driver; where that has fewer than 8 captures, of one driver, and
    `because` says where its kernel is another than most have; where that has fewer too, all. Robust
    standard deviations: off the median, by 1.4826 x the median absolute deviation, of logarithms.
    Of stolen_of_tasks_share `because` says whether packets came faster or cost more. Source: the
    fleet's answers and devices.
    """
    rows = measured(fleet)
    found = [one for metric in METRICS for one in _far(rows, metric, far)]
    frame = pd.DataFrame(found, columns=_COLUMNS)
    order = frame["robust_deviations"].abs().sort_values(ascending=False, kind="stable").index
    return frame.loc[order].reset_index(drop=True)


def _far(rows: pd.DataFrame, metric: str, far: float) -> list[dict[str, Any]]:
    known = rows[(rows[metric] > 0) & rows["batch_mean"].notna()]
    found: list[dict[str, Any]] = []
    for chosen, group in _groups(known):
        if len(group) < LEAST:
            continue
        far_off = pd.Series(deviations(group[metric].to_numpy("float64")), index=group.index)
        found += [
            _row(group, at, metric, float(far_off[at])) for at in chosen if abs(far_off[at]) >= far
        ]
    return found


def _groups(rows: pd.DataFrame) -> "list[tuple[pd.Index[Any], pd.DataFrame]]":
    # Captures that are looked at, and the group that each of them is one of.
    found = []
    for _, of_driver in rows.groupby("driver"):
        for _, own in of_driver.groupby("kernel"):
            group = own if len(own) >= LEAST else of_driver if len(of_driver) >= LEAST else rows
            found.append((own.index, group))
    return found


def _row(group: pd.DataFrame, at: Any, metric: str, far_off: float) -> dict[str, Any]:
    row = group.loc[at]
    others = group.drop(index=at)
    median = float(group[metric].median())
    named = ["path", "hostname", "kernel", "device", "driver"]
    if metric == "ns_per_work":
        why = parts_of(row, others)
    else:
        why = dict.fromkeys(PARTS, float("nan")) | {"because": _stolen_because(row, others)}
    other = _other_kernel(row, group)
    why["because"] = ", ".join(filter(None, (why["because"], other)))
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


def _other_kernel(row: "pd.Series[Any]", group: pd.DataFrame) -> str:
    # Of a group of several kernels: whether its own is another than most have.
    kernels = group["kernel"].value_counts()
    return "other kernel" if len(kernels) > 1 and kernels.index[0] != row["kernel"] else ""


def _stolen_because(row: "pd.Series[Any]", others: pd.DataFrame) -> str:
    # What of the share goes with more packets, and what with dearer ones.
    usual = others[["packets_per_s", "ns_per_work", "stolen_of_tasks_share"]].median()
    whole = np.log(row["stolen_of_tasks_share"] / usual["stolen_of_tasks_share"])
    parts = {
        "packet rate": np.log(row["packets_per_s"] / usual["packets_per_s"]),
        "packet cost": np.log(row["ns_per_work"] / usual["ns_per_work"]),
    }
    named = [name for name, part in parts.items() if part * whole > 0.25 * whole**2]
    return ", ".join(named)


@outliers.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # outlying_captures: how many captures; by_because: of each metric how many, by reason.
    frame = answer.frame
    counts = frame.groupby(["metric", "because"]).agg(
        captures=("path", "size"), hosts=("hostname", "nunique"), path=("path", "first")
    )
    counts = counts.reset_index().sort_values("captures", ascending=False, kind="stable")
    return {
        "outlying_captures": int(frame["path"].nunique()),
        "by_because": counts.reset_index(drop=True),
    }


@outliers.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return {
        "outlying": answer.parts["outlying_captures"],
        "reasons": records(answer.tables["by_because"]),
        "shown": records(answer.frame.head(_SHOWN)),
        "more": len(answer.frame[_SHOWN:]),
    }


@outliers.plot(
    title="CPU time of a packet in each capture, by kernel and driver; outliers in red",
    height=3.4,
    panels=lambda answer: [{}] if len(answer.frame) else [],
)
def _plot(ax: "Axes", answer: "Answer") -> None:
    from .plots import strips

    fleet = answer.sources["Fleet"]
    priced = answer.frame[answer.frame["metric"] == "ns_per_work"]
    strips(ax, measured(fleet), set(priced["path"]))
