# Where a change of CPU time per unit of work went: a tree whose branches sum to their stem.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...comparison.comparison import Comparison
from ...display.metrics import signed_duration
from ...display.tables import Table
from ...units import absent, duration, signed_share
from .cost_branches import (
    LEVELS,
    SMALL,
    branches,
    left_out,
    moved_between,
    summed,
    tree_of,
    who_paid,
)
from .tasks import require_tasks
from .work import require_recorded, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PART = 0.1


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
    base_sums, base_units, unknown_base_share = summed(comparison, comparison.base, unit)
    new_sums, new_units, unknown_new_share = summed(comparison, comparison.new, unit)
    tree = tree_of(base_sums, new_sums, (base_units, new_units))
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
        unknown_base_share=unknown_base_share,
        unknown_new_share=unknown_new_share,
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
    rows = paid.assign(part_ns=parts)[parts > _PART * parts.clip(lower=0).sum()]
    return rows.sort_values("part_ns", ascending=False).to_dict("records")


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
    worth: pd.DataFrame = leaves[per_unit > SMALL * tree["base_ns_per_unit"].iloc[0]]
    return worth
