# Where a change of CPU time per unit of work went: a tree whose branches sum to their stem.

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...comparison.comparison import Comparison
from ...comparison.run_set import RunSet
from ...timeline.owners import INTERRUPT_CONTEXTS
from .contexts import CONTEXTS, process_contexts, require_tasks
from .measured import measured
from .work import Unit, unit_of, units_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

LEVELS = ("process_context", "cost_class", "thief")
# What a task ran itself; what may be network, as inter-processor interrupts, at whosever cost.
OWN, PERHAPS = "own", "perhaps_network"
# Whose own time is part of what the work costs.
ENDPOINTS = ("client", "server")
# Branches of less than this part of the base's total are drawn together.
_SMALL = 0.005


@dataclass(frozen=True)
class CostTree:
    """Answer of `cost_tree`.

    Attributes
    ----------
    tree : pandas.DataFrame
        A row per branch: level (0 of all, then one for each of process_context, cost_class and
        thief, "" below it), base_ns, new_ns, base_ns_per_unit, new_ns_per_unit, difference_ns,
        difference_share (of the base's total per unit). Branches follow their stem.
    moved : pandas.DataFrame
        A row per process_context: decrease_ns, increase_ns per unit; and what of them went to, or
        came from, another: moved_ns; the rest is added_ns (negative where it is gone).
    unit : str
        The unit of work.
    base_units, new_units : float
        How many of it each side did.
    unknown_base_share, unknown_new_share : float
        What of the CPUs' time is in no branch, for nobody knows whose it was.
    """

    tree: pd.DataFrame
    moved: pd.DataFrame
    unit: str
    base_units: float
    new_units: float
    unknown_base_share: float
    unknown_new_share: float


@question(
    topic="comparison",
    main="tree",
    rows=24,
    columns=(
        *("process_context", "cost_class", "thief", "base_ns_per_unit", "new_ns_per_unit"),
        *("difference_ns", "difference_share"),
    ),
)
def cost_tree(comparison: Comparison) -> CostTree:
    """Where the change in CPU time per unit of work went, as a tree that sums exactly.

    - comparison: Two run sets, both recorded.

    CPU time of networking per unit of work, and what client and server ran themselves, by the
    process in whose context it was, its cost class and what ran.

    Source: the sums of each recording. In the tree is what is network, what may be
    ("perhaps_network"), and the own time of client and server, whose work the traffic is; other
    tasks' own time, idle time and nobody's are in no branch. Work that left one process and came to
    another is moved: of all processes' decreases and increases the smaller sum. The rest was added,
    or is gone.
    """
    for side, runs in comparison.sides.items():
        if not runs.recorded:
            raise CaptureError(
                f"no run of {side} was recorded, so nobody knows where its time went"
            )
    require_tasks(comparison)
    unit = unit_of(comparison)
    sums, units, unknown = [], [], []
    for runs in comparison.sides.values():
        rows, done, of_nobody = _summed(comparison, runs, unit)
        sums.append(rows)
        units.append(done)
        unknown.append(of_nobody)
    tree = _tree(sums[0], sums[1], units)
    return CostTree(tree, moved_between(tree), str(unit), *units, *unknown)


def _summed(
    comparison: Comparison, side: RunSet, unit: Unit
) -> tuple["pd.Series[int]", float, float]:
    # ns by LEVELS, units of work, and the share of nobody's time, of all runs of a side.
    parts, done, nobody, whole = [], 0.0, 0, 0
    for run in side.recorded:
        own = measured(run)
        rows = own.sums.assign(process_context=process_contexts(run, own, comparison))
        whole += int(rows["ns"].sum())
        nobody += int(rows.loc[rows["context"] == "unknown", "ns"].sum())
        network = rows["is_network"].astype(object)
        # A kernel thread that works for the network is network itself.
        task = ((rows["context"] == "task") & (network != "yes")).to_numpy(dtype=bool)
        ends = rows["process_context"].isin(ENDPOINTS).to_numpy() & task
        on_top = rows["context"].isin(INTERRUPT_CONTEXTS).to_numpy()
        rows = rows[ends | (network == "yes") | ((network == "unknown") & on_top)]
        classes = rows["cost_class"].astype(object).mask(task[rows.index], OWN)
        classes = classes.mask((network == "unknown")[rows.index] & ~task[rows.index], PERHAPS)
        thief = rows["thief"].astype(object).mask(rows["context"] == "task", OWN)
        rows = rows.assign(thief=thief, cost_class=classes)
        parts.append(rows.groupby(list(LEVELS), sort=False)["ns"].sum())
        done += float(units_of(run)[unit].sum())
    table = pd.concat(parts).groupby(level=[0, 1, 2], sort=False).sum()
    return table, done, nobody / whole if whole else float("nan")


def _tree(base: "pd.Series[int]", new: "pd.Series[int]", units: list[float]) -> pd.DataFrame:
    leaves = pd.DataFrame({"base_ns": base, "new_ns": new}).fillna(0).astype("int64").reset_index()
    order = {name: place for place, name in enumerate(CONTEXTS)}
    rows: list[dict[str, Any]] = []

    def grow(part: pd.DataFrame, level: int, names: dict[str, str]) -> None:
        totals = {side: int(part[side].sum()) for side in ("base_ns", "new_ns")}
        rows.append({"level": level, **dict.fromkeys(LEVELS, ""), **names, **totals})
        if level == len(LEVELS):
            return
        key = LEVELS[level]
        groups = dict(list(part.groupby(key, sort=False)))
        if key == "process_context":
            listed = sorted(groups, key=lambda name: order[str(name)])
        else:
            listed = sorted(groups, key=lambda name: -int(groups[name]["base_ns"].sum()))
        for name in listed:
            grow(groups[name], level + 1, {**names, key: str(name)})

    grow(leaves, 0, {})
    tree = pd.DataFrame(rows)
    for side, done in zip(("base", "new"), units, strict=True):
        tree[f"{side}_ns_per_unit"] = tree[f"{side}_ns"] / done if done else np.nan
    tree["difference_ns"] = tree["new_ns_per_unit"] - tree["base_ns_per_unit"]
    whole = tree["base_ns_per_unit"].iloc[0]
    tree["difference_share"] = tree["difference_ns"] / whole if whole else np.nan
    return tree


def moved_between(tree: pd.DataFrame) -> pd.DataFrame:
    # What processes do less and others more, per unit of work, of cost_tree's branches.
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


@cost_tree.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # stem: the row of all. largest_branches: those of the last level that changed most, either way.
    # moved_in_all_ns, added_in_all_ns, gone_in_all_ns: per unit; one of the last two is 0.
    found = answer.result
    leaves = found.tree[found.tree["level"] == len(LEVELS)]
    order = leaves["difference_ns"].abs().sort_values(ascending=False, kind="stable").index
    return {
        "stem": found.tree.iloc[0].to_dict(),
        "largest_branches": leaves.loc[order[:3]].to_dict("records"),
        "moved_in_all_ns": float(found.moved["moved_ns"].clip(lower=0).sum()),
        "added_in_all_ns": float(found.moved["added_ns"].clip(lower=0).sum()),
        "gone_in_all_ns": float(-found.moved["added_ns"].clip(upper=0).sum()),
        "moved_from": found.moved[found.moved["moved_ns"] < 0].to_dict("records"),
        "moved_to": found.moved[found.moved["moved_ns"] > 0].to_dict("records"),
    }


@cost_tree.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    names = (
        "stem",
        "largest_branches",
        "moved_in_all_ns",
        "gone_in_all_ns",
        "added_in_all_ns",
        "moved_from",
        "moved_to",
    )
    more = ("unit", "unknown_base_share", "unknown_new_share")
    comparison: Comparison = answer.sources["Comparison"]
    return {
        **{name: answer.parts[name] for name in (*names, *more)},
        "base_name": comparison.named("base"),
        "new_name": comparison.named("new"),
    }


@cost_tree.table
def _table(answer: "Answer") -> str:
    from .tables import branches, left_out, tree_table

    left = left_out(branches(answer.frame, LEVELS)[1])
    return tree_table(answer.frame, LEVELS).html() + (f"<p>{left}</p>" if left else "")


@cost_tree.plot(
    title="CPU time per unit of work, by process, cost class and what ran",
    height=lambda answer: 1.0 + 0.3 * len(drawn(answer.frame)),
)
def _plot(ax: "Axes", answer: "Answer") -> None:
    from .plots import tree_beside

    comparison: Comparison = answer.sources["Comparison"]
    names = comparison.named("base"), comparison.named("new")
    tree_beside(ax, drawn(answer.frame), names, answer.result.unit)


def drawn(tree: pd.DataFrame) -> pd.DataFrame:
    # The branches that are worth a bar: the last level, of either side's more than a part.
    leaves = tree[tree["level"] == len(LEVELS)]
    whole = tree["base_ns_per_unit"].iloc[0]
    worth = leaves[["base_ns_per_unit", "new_ns_per_unit"]].max(axis=1) > _SMALL * whole
    found: pd.DataFrame = leaves[worth]
    return found
