# Who pays for a unit of work: each process itself, and interrupts on top of it, with intervals.

from typing import Any

import numpy as np
import pandas as pd

from ...comparison.comparison import Comparison
from ...stats.change import LEAST_REPEATS, Counts, Side
from ...timeline.owners import INTERRUPT_CONTEXTS
from .cost_branches import CONTEXT, OWN, in_tree, moved_between
from .metrics import change_columns, sides_of
from .run_blocks import by_block, run_blocks
from .work import Unit, units_of

ITSELF, SOFTIRQS, INTERRUPTS = "itself", "softirqs", "interrupts"
# Parts of less than this share of the base's total have no interval.
_SMALL = 0.02


def who_paid(comparison: Comparison, unit: Unit, tree: pd.DataFrame) -> pd.DataFrame:
    # A row per process and part of its time: ns per unit on both sides, the relative change with
    # its interval where it is known, and what moved from or to other parts.
    sides = [
        [_parts(run, comparison) for run in side.recorded] for side in comparison.sides.values()
    ]
    done = [[units_of(run)[unit] for run in side.recorded] for side in comparison.sides.values()]
    total = max(float(tree["base_ns_per_unit"].iloc[0]), 1e-9)
    rows: list[dict[str, Any]] = []
    for key in dict.fromkeys(key for side in sides for run in side for key in run):
        counts: list[list[Counts]] = [
            [
                (run.get(key, np.zeros(len(units))), units)
                for run, units in zip(side, of, strict=True)
            ]
            for side, of in zip(sides, done, strict=True)
        ]
        per_unit = [
            sum(above.sum() for above, _ in side) / sum(below.sum() for _, below in side)
            for side in counts
        ]
        row = {
            "process_context": key[0],
            "spent_by": key[1],
            "difference_ns": per_unit[1] - per_unit[0],
        }
        row |= {"base_ns_per_unit": per_unit[0], "new_ns_per_unit": per_unit[1]}
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


_COLUMNS = (
    *("process_context", "spent_by", "base_ns_per_unit", "new_ns_per_unit", "difference_ns"),
    *("change", "change_low", "change_high"),
)


def _parts(run: Any, comparison: Comparison) -> dict[tuple[Any, ...], Any]:
    # ns per block of each part of the tree of one run.
    recording = run_blocks(run)
    rows = in_tree(run, comparison)
    payer = pd.Series(SOFTIRQS, index=rows.index)
    payer = payer.mask(rows["context"].isin(["hardirq", "vector"]), INTERRUPTS)
    payer = payer.mask(
        (rows["cost_class"] == OWN) | ~rows["context"].isin(INTERRUPT_CONTEXTS), ITSELF
    )
    found: dict[tuple[str, str], Any] = {}
    for (process, spent_by), of in rows.groupby([rows[CONTEXT], payer], sort=False):
        chosen = recording.sums.index.isin(of.index)
        found[str(process), str(spent_by)] = by_block(
            recording, pd.Series(chosen, index=recording.sums.index)
        )
    return found
