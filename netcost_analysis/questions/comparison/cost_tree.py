# Where a change of CPU time per unit of work went: a tree whose branches sum to their stem.

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...comparison.comparison import Comparison
from ...comparison.run_set import RunSet
from ...display.metrics import signed_duration
from ...display.tables import Table
from ...timeline.owners import INTERRUPT_CONTEXTS
from ...units import absent, duration, plural, signed_share
from .run_blocks import run_blocks
from .tasks import CONTEXTS, process_contexts, require_tasks
from .work import Unit, unit_of, units_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVELS = ("process_context", "cost_class", "thief")
# What a task ran itself; what may be network, such as inter-processor interrupts.
OWN, PERHAPS = "own", "perhaps_network"
# The processes whose own time is part of the cost of the work.
ENDPOINTS = ("client", "server")
# Branches of less than this part of the base's total are counted and not shown.
_SMALL = 0.005


@question(
    rows=24,
    columns=(
        *("process_context", "cost_class", "thief", "base_ns_per_unit", "new_ns_per_unit"),
        *("difference_ns", "difference_share"),
    ),
)
def cost_tree(comparison: Comparison) -> Answer:
    """Where the change in CPU time per unit of work went, as a tree that sums exactly.

    A row per branch, after its stem: by the process in whose context the time was spent, its cost
    class and what ran. The tree holds network time, time that may be network ("perhaps_network"),
    and the own time of client and server, whose work the traffic is. Other tasks' own time, idle
    time and time without an owner are in no branch. Work that left one process and came to another
    is moved: the smaller sum of all processes' decreases and of their increases. The rest was
    added, or is gone.

    Source: the sums of each recording.
    """
    for side, runs in comparison.sides.items():
        if not runs.recorded:
            raise CaptureError(
                f"no run of {side} was recorded, so nobody knows where its time went"
            )
    require_tasks(comparison)
    unit = unit_of(comparison)
    base_sums, base_units, unknown_base_share = _summed(comparison, comparison.base, unit)
    new_sums, new_units, unknown_new_share = _summed(comparison, comparison.new, unit)
    tree = _tree(base_sums, new_sums, (base_units, new_units))
    moved = moved_between(tree)
    leaves = tree[tree["level"] == len(LEVELS)]
    order = leaves["difference_ns"].abs().sort_values(ascending=False, kind="stable").index
    return Answer(
        tree=tree,
        moved=moved,
        unit=str(unit),
        base_units=base_units,
        new_units=new_units,
        unknown_base_share=unknown_base_share,
        unknown_new_share=unknown_new_share,
        stem=tree.iloc[0].to_dict(),
        largest_branches=leaves.loc[order[:3]].to_dict("records"),
        moved_in_all_ns=float(moved["moved_ns"].clip(lower=0).sum()),
        added_in_all_ns=float(moved["added_ns"].clip(lower=0).sum()),
        gone_in_all_ns=float(-moved["added_ns"].clip(upper=0).sum()),
        moved_from=moved[moved["moved_ns"] < 0].to_dict("records"),
        moved_to=moved[moved["moved_ns"] > 0].to_dict("records"),
        base_name=comparison.named("base"),
        new_name=comparison.named("new"),
    )


def _summed(
    comparison: Comparison, side: RunSet, unit: Unit
) -> tuple["pd.Series[int]", float, float]:
    # Over all runs of a side: ns by LEVELS, units of work, and the share of time without an owner.
    parts, done, nobody, total = [], 0.0, 0, 0
    for run in side.recorded:
        rows = run_blocks(run).sums.assign(process_context=process_contexts(run, comparison))
        total += int(rows["ns"].sum())
        nobody += int(rows.loc[rows["context"] == "unknown", "ns"].sum())
        done += float(units_of(run)[unit].sum())
        network = rows["is_network"].astype(object)
        in_task = rows["context"] == "task"
        # A kernel thread that works for the network is network itself.
        own = (in_task & (network != "yes")).to_numpy(dtype=bool)
        perhaps = (network == "unknown") & rows["context"].isin(INTERRUPT_CONTEXTS)
        classes = rows["cost_class"].astype(object).mask(own, OWN).mask(perhaps & ~own, PERHAPS)
        thieves = rows["thief"].astype(object).mask(in_task, OWN)
        rows = rows.assign(cost_class=classes, thief=thieves)
        kept = rows[(rows["process_context"].isin(ENDPOINTS) & own) | (network == "yes") | perhaps]
        parts.append(kept.groupby(list(LEVELS), sort=False)["ns"].sum())
    table = pd.concat(parts).groupby(level=[0, 1, 2], sort=False).sum()
    return table, done, nobody / total if total else float("nan")


def _tree(base: "pd.Series[int]", new: "pd.Series[int]", units: tuple[float, ...]) -> pd.DataFrame:
    leaves = pd.DataFrame({"base_ns": base, "new_ns": new}).fillna(0).astype("int64").reset_index()
    tree = pd.DataFrame(list(_branches_of(leaves, 0, {})))
    for side, done in zip(("base", "new"), units, strict=True):
        tree[f"{side}_ns_per_unit"] = tree[f"{side}_ns"] / done if done else np.nan
    tree["difference_ns"] = tree["new_ns_per_unit"] - tree["base_ns_per_unit"]
    stem = tree["base_ns_per_unit"].iloc[0]
    tree["difference_share"] = tree["difference_ns"] / stem if stem else np.nan
    return tree


def _branches_of(
    leaves: pd.DataFrame, level: int, names: dict[str, str]
) -> Iterator[dict[str, Any]]:
    # The stem of these leaves, then its branches with theirs: processes in the order of CONTEXTS,
    # others with most of the base's time first.
    totals = {side: int(leaves[side].sum()) for side in ("base_ns", "new_ns")}
    yield {"level": level, **dict.fromkeys(LEVELS, ""), **names, **totals}
    if level == len(LEVELS):
        return
    groups = [(str(name), rows) for name, rows in leaves.groupby(LEVELS[level], sort=False)]
    if level:
        groups.sort(key=lambda group: -int(group[1]["base_ns"].sum()))
    else:
        groups.sort(key=lambda group: CONTEXTS.index(group[0]))
    for name, rows in groups:
        yield from _branches_of(rows, level + 1, {**names, LEVELS[level]: name})


def moved_between(tree: pd.DataFrame) -> pd.DataFrame:
    # Per unit of work, what some processes do less of and others more.
    rows = tree[tree["level"] == 1]
    differences = rows["difference_ns"].to_numpy("float64")
    decrease, increase = (-differences).clip(min=0), differences.clip(min=0)
    moved = min(decrease.sum(), increase.sum())
    with np.errstate(invalid="ignore"):
        lost = moved * decrease / decrease.sum() if decrease.sum() else decrease
        gained = moved * increase / increase.sum() if increase.sum() else increase
    return pd.DataFrame(
        {
            "process_context": rows["process_context"].to_numpy(),
            "decrease_ns": decrease,
            "increase_ns": increase,
            "moved_ns": gained - lost,
            "added_ns": (increase - gained) - (decrease - lost),
        }
    )


def branches(tree: pd.DataFrame) -> tuple[list[tuple[str, Any]], int]:
    # The rows of `cost_tree` that are worth a line, each with its name; how many are not.
    shown, small = [], 0
    rows = tree.to_dict("records")
    for row in rows:
        at = row["level"]
        name = row[LEVELS[at - 1]] if at else "all"
        # The branch below "own" has the same name.
        if at > 1 and name == row[LEVELS[at - 2]]:
            continue
        per_unit = max(row["base_ns_per_unit"], row["new_ns_per_unit"])
        if per_unit < _SMALL * rows[0]["base_ns_per_unit"]:
            small += 1
        else:
            shown.append((name.replace("_", " ") if LEVELS[at - 1] == "cost_class" else name, row))
    return shown, small


def left_out(small: int) -> str:
    # A line about branches that are not shown; "" where all are.
    if not small:
        return ""
    part = f"less than {100 * _SMALL:g} % of the base's total"
    return f"{plural(small, 'branch', 'branches')} of {part} left out."


@cost_tree.table
def _table(answer: Answer) -> str:
    shown, small = branches(answer.frame)
    rows = []
    for name, row in shown:
        names = [""] * len(LEVELS)
        names[max(row["level"] - 1, 0)] = name
        times = duration(row["base_ns_per_unit"]), duration(row["new_ns_per_unit"])
        share = row["difference_share"]
        rows.append(
            [
                *(*names, *times, signed_duration(row["difference_ns"])),
                "" if absent(share) else signed_share(share),
            ]
        )
    heads = [level.replace("_", " ") for level in LEVELS]
    header = [*heads, "base", "new", "change", "of the base's total"]
    table = Table(header, rows, strong={0}, left=set(range(len(LEVELS))))
    return table.html() + (f"<p>{left_out(small)}</p>" if small else "")


@cost_tree.plot(
    title="CPU time per unit of work, by process, cost class and what ran",
    height=lambda answer: 1.0 + 0.3 * len(_drawn(answer.frame)),
)
def _plot(ax: "Axes", answer: Answer) -> None:
    from .plots import branches_beside

    names = answer["base_name"], answer["new_name"]
    branches_beside(ax, _drawn(answer.frame), names, answer["unit"])


def _drawn(tree: pd.DataFrame) -> pd.DataFrame:
    # The branches that are worth a bar: leaves that are large enough on either side.
    leaves = tree[tree["level"] == len(LEVELS)]
    per_unit = leaves[["base_ns_per_unit", "new_ns_per_unit"]].max(axis=1)
    worth: pd.DataFrame = leaves[per_unit > _SMALL * tree["base_ns_per_unit"].iloc[0]]
    return worth
