# A comparison's tables on a page: figures in their units, a branch under its stem.

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...display.tables import Table
from ...units import absent, duration, plural, signed_share
from .words import chance, judged, moved, quantity, signed_duration

if TYPE_CHECKING:
    import pandas as pd

# Branches of less than this part of the base's total are counted and not shown.
SMALL_SHARE = 0.005
_CLASS = 2


def changes_table(changes: "pd.DataFrame") -> Table:
    """The rows of `changes`."""
    header = ["metric", "base", "new", "change", "95 % interval", "p", ""]
    rows = [_change(row) for row in changes.to_dict("records")]
    return Table(header, rows, strong={0}, left={0, 6})


def _change(row: Any) -> list[str]:
    def figure(name: str) -> str:
        return quantity(row[name], row["per_unit"])

    def far(name: str) -> str:
        return moved(row[name], row["is_relative"], row["per_unit"])

    ends = "" if absent(row["change_low"]) else f"{far('change_low')} to {far('change_high')}"
    said = row["outcome"] or row["differs"].replace("_", " ")
    return [
        *(row["metric"], figure("base"), figure("new"), judged(row), ends),
        *(chance(row["p_adjusted"]), "" if said in ("yes", "no") else said),
    ]


def branches(tree: "pd.DataFrame", levels: Sequence[str]) -> tuple[list[tuple[str, Any]], int]:
    """The rows of `cost_tree` that are worth a line, each with its own name; how many are not."""
    found = []
    small = 0
    rows = tree.to_dict("records")
    least = SMALL_SHARE * rows[0]["base_ns_per_unit"]
    for row in rows:
        at = row["level"]
        name = row[levels[at - 1]] if at else "all"
        # What a task ran itself has one branch, of the same name.
        if at > 1 and name == row[levels[at - 2]]:
            continue
        if max(row["base_ns_per_unit"], row["new_ns_per_unit"]) < least:
            small += 1
            continue
        found.append((name.replace("_", " ") if at == _CLASS else name, row))
    return found, small


def left_out(small: int) -> str:
    """A line about branches that are not shown; "" where all are."""
    if not small:
        return ""
    part = f"less than {100 * SMALL_SHARE:g} % of the base's total"
    return f"{plural(small, 'branch', 'branches')} of {part} left out."


def tree_table(tree: "pd.DataFrame", levels: Sequence[str]) -> Table:
    """The rows of `cost_tree`, each branch under its stem."""
    rows = []
    for name, row in branches(tree, levels)[0]:
        named = [""] * len(levels)
        named[max(row["level"] - 1, 0)] = name
        rows.append(
            [
                *named,
                *(duration(row["base_ns_per_unit"]), duration(row["new_ns_per_unit"])),
                signed_duration(row["difference_ns"]),
                "" if absent(row["difference_share"]) else signed_share(row["difference_share"]),
            ]
        )
    heads = [one.replace("_", " ") for one in levels]
    header = [*heads, "base", "new", "change", "of the base's total"]
    return Table(header, rows, strong={0}, left=set(range(len(levels))))
