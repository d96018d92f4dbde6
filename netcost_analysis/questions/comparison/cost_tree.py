# CPU time per unit of work as a tree whose branches sum to their stem.

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...comparison.comparison import Comparison
from ...comparison.run_set import RunSet
from ...display.metrics import signed_duration
from ...display.tables import Table
from ...plots.palette import SIDE
from ...units import absent, duration, plural, signed_share
from .comparability import refusals
from .run_blocks import run_blocks
from .tasks import CONTEXTS, require_tasks
from .tree_rows import LEVELS, in_tree, moved_between
from .who_paid import most_changed, moved_parts, who_paid
from .work import Unit, require_recorded, unit_of, units_of

# Branches of less than this part of the base's total are counted and not shown.
SMALL = 0.005


def summed(
    comparison: Comparison, side: RunSet, unit: Unit
) -> tuple["pd.Series[int]", float, float]:
    # Over all runs of a side: ns by LEVELS, units of work, and the share of time without an owner.
    done = sum(float(units_of(run)[unit].sum()) for run in side.recorded)
    every = pd.concat([run_blocks(run).sums[["context", "ns"]] for run in side.recorded])
    nobody = every.loc[every["context"] == "unknown", "ns"].sum() / (every["ns"].sum() or np.nan)
    rows = pd.concat([in_tree(run, comparison)[[*LEVELS, "ns"]] for run in side.recorded])
    return rows.groupby([*LEVELS], sort=False)["ns"].sum(), done, float(nobody)


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
    groups.sort(key=lambda of: -int(of[1]["base_ns"].sum()) if level else CONTEXTS.index(of[0]))
    for name, rows in groups:
        yield from _branches_of(rows, level + 1, {**names, LEVELS[level]: name})


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
    part = f"less than {100 * SMALL:g} % of the base's total"
    return f"{plural(small, 'branch', 'branches')} of {part} left out." if small else ""


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
    added, or is gone. `paid` has the same for a process itself and for interrupts in its context,
    with the interval of each change.

    Source: the sums of each recording.
    """
    require_recorded(comparison, "where its time went")
    require_tasks(comparison)
    unit = unit_of(comparison)
    (base_ns, base_units, unknown_base), (new_ns, new_units, unknown_new) = (
        summed(comparison, side, unit) for side in comparison.sides.values()
    )
    tree = tree_of(base_ns, new_ns, (base_units, new_units))
    paid = who_paid(comparison, unit, float(tree["base_ns_per_unit"].iloc[0]))
    parts = paid.parts
    added = float(tree["difference_ns"].iloc[0])
    ends = (paid.change.low, paid.change.high) if paid.change else (np.nan, np.nan)
    leaves = tree[tree["level"] == len(LEVELS)]
    order = leaves["difference_ns"].abs().sort_values(ascending=False, kind="stable").index
    return Answer(
        tree=tree,
        moved=moved_between(tree),
        paid=parts,
        most_changed=most_changed(parts),
        moved_from=moved_parts(parts, -1),
        moved_to=moved_parts(parts, 1),
        unit=str(unit),
        base_units=base_units,
        new_units=new_units,
        unknown_base_share=unknown_base,
        unknown_new_share=unknown_new,
        stem=tree.iloc[0].to_dict(),
        largest_branches=leaves.loc[order[:3]].to_dict("records"),
        moved_in_all_ns=float(parts["moved_ns"].clip(lower=0).sum()),
        moved_low_ns=paid.moved_low_ns,
        moved_high_ns=paid.moved_high_ns,
        is_moved=paid.is_moved,
        added_in_all_ns=max(added, 0.0),
        gone_in_all_ns=max(-added, 0.0),
        difference_low_ns=ends[0],
        difference_high_ns=ends[1],
        gone_low_ns=-ends[1],
        gone_high_ns=-ends[0],
        time_blocks=paid.blocks,
        refusals=refusals(comparison),
        base_name=comparison.named("base"),
        new_name=comparison.named("new"),
    )


@cost_tree.table
def _table(answer: Answer) -> str:
    shown, small = branches(answer.frame)
    rows = []
    for name, row in shown:
        names = [""] * len(LEVELS)
        names[max(row["level"] - 1, 0)] = name
        times = duration(row["base_ns_per_unit"]), duration(row["new_ns_per_unit"])
        share = "" if absent(row["difference_share"]) else signed_share(row["difference_share"])
        rows.append([*names, *times, signed_duration(row["difference_ns"]), share])
    heads = [level.replace("_", " ") for level in LEVELS]
    header = [*heads, "base", "new", "change", "of the base's total"]
    table = Table(header, rows, strong={0}, left=set(range(len(LEVELS))))
    return table.html() + (f"<p>{left_out(small)}</p>" if small else "")


@cost_tree.plot(
    title="CPU time per unit of work, by process, cost class and what ran",
    height=lambda answer: 1.0 + 0.3 * len(_drawn(answer.frame)),
)
def _plot(ax: Axes, answer: Answer) -> None:
    from matplotlib.patches import Patch

    leaves, names = _drawn(answer.frame), (answer["base_name"], answer["new_name"])
    for side, shift in (("base", -0.2), ("new", 0.2)):
        places = [place + shift for place in range(len(leaves))]
        ax.barh(places, leaves[f"{side}_ns_per_unit"], 0.38, color=SIDE[side])
    rows = leaves[["process_context", "cost_class", "thief"]].to_numpy()
    ax.set_yticks(range(len(rows)), [", ".join(row).replace("_", " ") for row in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.xaxis.set_major_formatter(lambda value, _: duration(value))
    ax.set_xlabel(f"CPU time per {answer['unit']}")
    bars = [Patch(color=SIDE[side], label=name) for side, name in zip(SIDE, names, strict=True)]
    ax.legend(handles=bars, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)


def _drawn(tree: pd.DataFrame) -> pd.DataFrame:
    # The branches that are worth a bar: leaves that are large enough on either side.
    leaves = tree[tree["level"] == len(LEVELS)]
    per_unit = leaves[["base_ns_per_unit", "new_ns_per_unit"]].max(axis=1)
    worth: pd.DataFrame = leaves[per_unit > SMALL * tree["base_ns_per_unit"].iloc[0]]
    return worth
