# CPU time per unit of work as a tree of branches, what moved between them, and who pays: each
# process itself, and interrupts on top of it, with intervals.

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...comparison.run_set import RunSet
from ...stats.change import LEAST_REPEATS, Counts, Side
from ...stats.resampling import Floats
from ...timeline.owners import INTERRUPT_CONTEXTS
from ...units import plural
from .metrics import change_columns, sides_of
from .run_blocks import by_block, run_blocks
from .tasks import CONTEXTS, process_contexts
from .work import Unit, units_of

CONTEXT = "process_context"
LEVELS = (CONTEXT, "cost_class", "thief")
# What a task ran itself; what may be network, such as inter-processor interrupts.
OWN, PERHAPS = "own", "perhaps_network"
# The processes whose own time is part of the cost of the work.
ENDPOINTS = ("client", "server")
# Branches of less than this part of the base's total are counted and not shown.
SMALL = 0.005


def summed(
    comparison: Comparison, side: RunSet, unit: Unit
) -> tuple["pd.Series[int]", float, float]:
    # Over all runs of a side: ns by LEVELS, units of work, and the share of time without an owner.
    parts, done, nobody, total = [], 0.0, 0, 0
    for run in side.recorded:
        total += int(run_blocks(run).sums["ns"].sum())
        unknown = run_blocks(run).sums["context"] == "unknown"
        nobody += int(run_blocks(run).sums.loc[unknown, "ns"].sum())
        done += float(units_of(run)[unit].sum())
        parts.append(in_tree(run, comparison).groupby(list(LEVELS), sort=False)["ns"].sum())
    table = pd.concat(parts).groupby(level=[0, 1, 2], sort=False).sum()
    return table, done, nobody / total if total else float("nan")


def in_tree(run: Run, comparison: Comparison) -> pd.DataFrame:
    # The rows of a run's sums that are in the tree, with its LEVELS as columns.
    rows = run_blocks(run).sums
    rows = rows.assign(**{CONTEXT: process_contexts(run, comparison)})
    network = rows["is_network"].astype(object)
    in_task = rows["context"] == "task"
    # A kernel thread that works for the network is network itself.
    own = (in_task & (network != "yes")).to_numpy(dtype=bool)
    perhaps = (network == "unknown") & rows["context"].isin(INTERRUPT_CONTEXTS)
    classes = rows["cost_class"].astype(object).mask(own, OWN).mask(perhaps & ~own, PERHAPS)
    thieves = rows["thief"].astype(object).mask(in_task, OWN)
    rows = rows.assign(cost_class=classes, thief=thieves)
    return rows[(rows[CONTEXT].isin(ENDPOINTS) & own) | (network == "yes") | perhaps]


def tree_of(
    base: "pd.Series[int]", new: "pd.Series[int]", units: tuple[float, ...]
) -> pd.DataFrame:
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
        if per_unit < SMALL * rows[0]["base_ns_per_unit"]:
            small += 1
        else:
            shown.append((name.replace("_", " ") if LEVELS[at - 1] == "cost_class" else name, row))
    return shown, small


def left_out(small: int) -> str:
    # A line about branches that are not shown; "" where all are.
    if not small:
        return ""
    part = f"less than {100 * SMALL:g} % of the base's total"
    return f"{plural(small, 'branch', 'branches')} of {part} left out."


ITSELF, SOFTIRQS, INTERRUPTS = "itself", "softirqs", "interrupts"
# Parts of less than this share of the base's total have no interval.
_SMALL = 0.02
_COLUMNS = (
    *("process_context", "spent_by", "base_ns_per_unit", "new_ns_per_unit", "difference_ns"),
    *("change", "change_low", "change_high"),
)


def who_paid(comparison: Comparison, unit: Unit, tree: pd.DataFrame) -> pd.DataFrame:
    # A row per process and part of its time: ns per unit on both sides, the relative change with
    # its interval where it is known, and what moved from or to other parts.
    sides = [
        [(_parts(run, comparison), units_of(run)[unit]) for run in side.recorded]
        for side in comparison.sides.values()
    ]
    total = max(float(tree["base_ns_per_unit"].iloc[0]), 1e-9)
    rows: list[dict[str, Any]] = []
    for key in dict.fromkeys(key for side in sides for parts, _ in side for key in parts):
        counts = [
            [(parts.get(key, np.zeros(len(done))), done) for parts, done in side] for side in sides
        ]
        per_unit = [
            sum(above.sum() for above, _ in side) / sum(below.sum() for _, below in side)
            for side in counts
        ]
        row: dict[str, Any] = dict(
            zip(_COLUMNS, (*key, *per_unit, per_unit[1] - per_unit[0]), strict=False)
        )
        if max(per_unit) >= _SMALL * total:
            base, new = _observed(counts)
            found = change_columns(base, new, bool(per_unit[0]))
            row |= {name: found[name] for name in ("change", "change_low", "change_high")}
        rows.append(row)
    frame = pd.DataFrame(rows, columns=[*_COLUMNS])
    moved = moved_between(frame.assign(level=1))
    frame["moved_ns"] = moved["moved_ns"].to_numpy()
    return frame


def _observed(counts: list[list[Counts]]) -> list[Side]:
    # As the tree sums: all time over all work, whose observations are runs or blocks of time.
    if min(map(len, counts)) < LEAST_REPEATS:
        return sides_of(counts)
    sums = [np.array([(above.sum(), below.sum()) for above, below in side]).T for side in counts]
    return [Side(above, below, "blocks") for above, below in sums]


def _parts(run: Run, comparison: Comparison) -> dict[tuple[str, str], Floats]:
    # ns per block of each part of the tree of one run.
    rows = in_tree(run, comparison)
    payer = pd.Series(SOFTIRQS, index=rows.index)
    payer = payer.mask(rows["context"].isin(["hardirq", "vector"]), INTERRUPTS)
    payer = payer.mask(
        (rows["cost_class"] == OWN) | ~rows["context"].isin(INTERRUPT_CONTEXTS), ITSELF
    )
    return {
        (str(process), str(spent_by)): by_block(run_blocks(run), of)
        for (process, spent_by), of in rows.groupby([rows[CONTEXT], payer], sort=False)
    }
