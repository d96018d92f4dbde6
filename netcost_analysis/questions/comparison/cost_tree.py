# CPU time per unit of work as a tree whose branches sum to their stem, what moved between them, and
# who pays: each process itself, and interrupts on top of it, with intervals.

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...comparison.run_set import RunSet
from ...display.metrics import signed_duration
from ...display.tables import Table
from ...plots.palette import SIDE
from ...stats.change import LEAST_REPEATS, Counts, Side
from ...stats.resampling import Floats
from ...timeline.owners import INTERRUPT_CONTEXTS
from ...units import absent, duration, plural, signed_share
from .metrics import change_columns, sides_of
from .run_blocks import by_block, run_blocks
from .tasks import CONTEXTS, process_contexts, require_tasks
from .work import Unit, require_recorded, unit_of, units_of

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
    done = sum(float(units_of(run)[unit].sum()) for run in side.recorded)
    every = pd.concat([run_blocks(run).sums[["context", "ns"]] for run in side.recorded])
    nobody = every.loc[every["context"] == "unknown", "ns"].sum() / (every["ns"].sum() or np.nan)
    rows = pd.concat([in_tree(run, comparison)[[*LEVELS, "ns"]] for run in side.recorded])
    return rows.groupby([*LEVELS], sort=False)["ns"].sum(), done, float(nobody)


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
    groups.sort(key=lambda of: -int(of[1]["base_ns"].sum()) if level else CONTEXTS.index(of[0]))
    for name, rows in groups:
        yield from _branches_of(rows, level + 1, {**names, LEVELS[level]: name})


def moved_between(tree: pd.DataFrame) -> pd.DataFrame:
    # Per unit of work, what some processes do less of and others more.
    rows = tree[tree["level"] == 1]
    differences = rows["difference_ns"].to_numpy("float64")
    decrease, increase = (-differences).clip(min=0), differences.clip(min=0)
    moved = min(decrease.sum(), increase.sum())
    lost, gained = (moved * part / (part.sum() or 1) for part in (decrease, increase))
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
    part = f"less than {100 * SMALL:g} % of the base's total"
    return f"{plural(small, 'branch', 'branches')} of {part} left out." if small else ""


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
        counts = [[(parts.get(key, 0 * done), done) for parts, done in side] for side in sides]
        base, new = (
            sum(above.sum() for above, _ in side) / sum(below.sum() for _, below in side)
            for side in counts
        )
        row: dict[str, Any] = dict(zip(_COLUMNS, (*key, base, new, new - base), strict=False))
        if max(base, new) >= _SMALL * total:
            found = change_columns(*_observed(counts), bool(base))
            row |= {name: found[name] for name in _COLUMNS[-3:]}
        rows.append(row)
    frame = pd.DataFrame(rows, columns=[*_COLUMNS])
    moved = moved_between(frame.assign(level=1))
    return frame.assign(moved_ns=moved["moved_ns"].to_numpy())


def _observed(counts: list[list[Counts]]) -> tuple[Side, Side]:
    # As the tree sums: all time over all work, whose observations are runs or blocks of time.
    if min(map(len, counts)) < LEAST_REPEATS:
        base, new = sides_of(counts)
        return base, new
    sums = (np.array([(above.sum(), below.sum()) for above, below in side]).T for side in counts)
    base, new = (Side(above, below, "blocks") for above, below in sums)
    return base, new


def _parts(run: Run, comparison: Comparison) -> dict[tuple[str, str], Floats]:
    # ns per block of each part of the tree of one run.
    rows = in_tree(run, comparison)
    is_own = (rows["cost_class"] == OWN) | ~rows["context"].isin(INTERRUPT_CONTEXTS)
    is_interrupt = rows["context"].isin(["hardirq", "vector"])
    payer = np.select([is_own, is_interrupt], ["itself", "interrupts"], "softirqs")
    return {
        (str(process), str(spent_by)): by_block(run_blocks(run), of)
        for (process, spent_by), of in rows.groupby([rows[CONTEXT], payer], sort=False)
    }


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
    paid = who_paid(comparison, unit, tree)
    added = float(tree["difference_ns"].iloc[0])
    leaves = tree[tree["level"] == len(LEVELS)]
    order = leaves["difference_ns"].abs().sort_values(ascending=False, kind="stable").index
    return Answer(
        tree=tree,
        moved=moved_between(tree),
        paid=paid,
        most_changed=_most_changed(paid),
        moved_from=_moved(paid, -1),
        moved_to=_moved(paid, 1),
        unit=str(unit),
        base_units=base_units,
        new_units=new_units,
        unknown_base_share=unknown_base,
        unknown_new_share=unknown_new,
        stem=tree.iloc[0].to_dict(),
        largest_branches=leaves.loc[order[:3]].to_dict("records"),
        moved_in_all_ns=float(paid["moved_ns"].clip(lower=0).sum()),
        added_in_all_ns=max(added, 0.0),
        gone_in_all_ns=max(-added, 0.0),
        base_name=comparison.named("base"),
        new_name=comparison.named("new"),
    )


def _most_changed(paid: pd.DataFrame) -> list[dict[Any, Any]]:
    # Those that changed beyond chance, at most 3, else the one that changed most.
    known = paid[paid["change"].notna() | (paid["base_ns_per_unit"] == 0)]
    known = known.sort_values("difference_ns", key=abs, ascending=False)
    told = known[(known["change_low"] > 0) | (known["change_high"] < 0)]
    rows = (told if len(told) else known[:1])[:3]
    return rows.assign(is_relative=True, per_unit="ns").to_dict("records")


def _moved(paid: pd.DataFrame, sign: int) -> list[dict[Any, Any]]:
    # Those from (-1) or to which work moved, without what is less than a tenth of it.
    parts = sign * paid["moved_ns"]
    rows = paid.assign(part_ns=parts)[parts > 0.1 * parts.clip(lower=0).sum()]
    return rows.sort_values("part_ns", ascending=False).to_dict("records")


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
