# Who pays for a unit of work: each process itself, and interrupts on top of it; and what moved
# between them. With the intervals of a comparison.

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...stats.change import LEAST_REPEATS, Change, Counts, Side, change_of, holm, repeats
from ...stats.resampling import CHANCE, Floats
from ...timeline.owners import INTERRUPT_CONTEXTS
from .metrics import change_columns, sides_of
from .run_blocks import by_block, run_blocks
from .tree_rows import CONTEXT, OWN, in_tree, moved_between
from .work import Unit, units_of

# Parts of less than this share of the base's total have no interval.
_SMALL = 0.02
_COLUMNS = (
    *("process_context", "spent_by", "base_ns_per_unit", "new_ns_per_unit", "difference_ns"),
    *("change", "change_low", "change_high", "p_adjusted", "is_relative"),
)

# ns and units of work of each run of base and new, by block.
_Sides = list[list[Counts]]


class Paid(NamedTuple):
    # parts: a row per process and part of its time: ns per unit on both sides, the change with its
    # interval where it is known (is_relative, or in ns), and what moved from or to other parts.
    # moved_low_ns, moved_high_ns: the interval of what moved in all. is_moved: whether more than
    # chance explains. change: of the sum of all parts, if there are any. blocks: how many blocks of
    # time a side has, if these are what was observed; else 0.
    parts: pd.DataFrame
    moved_low_ns: float
    moved_high_ns: float
    is_moved: bool
    change: Change | None
    blocks: int


def who_paid(comparison: Comparison, unit: Unit, total: float) -> Paid:
    # total: the base's ns per unit in all parts.
    sides = [
        [(_parts(run, comparison), units_of(run)[unit]) for run in runs]
        for runs in comparison.recorded_sides
    ]
    counted: dict[tuple[str, str], _Sides] = {}
    for key in dict.fromkeys(key for side in sides for parts, _ in side for key in parts):
        counted[key] = [
            [(parts.get(key, 0 * done), done) for parts, done in side] for side in sides
        ]
    return paid_in(counted, _SMALL * max(total, 1e-9), comparison.paired)


def paid_in(counted: dict[tuple[str, str], _Sides], least: float, paired: bool) -> Paid:
    # counted: by process and what spent it. least: ns per unit of a part that has an interval.
    rows: list[dict[str, Any]] = []
    for key, counts in counted.items():
        base, new = (
            sum(above.sum() for above, _ in side) / sum(below.sum() for _, below in side)
            for side in counts
        )
        row: dict[str, Any] = dict(zip(_COLUMNS, (*key, base, new, new - base), strict=False))
        # Of next to nothing any change is thousands of percent.
        row["is_relative"] = base >= least
        if max(base, new) >= least:
            found = change_columns(*_observed(counts, paired), base >= least, paired)
            row |= {name: found[name] for name in ("change", "change_low", "change_high")}
            row["p_adjusted"] = found["p_value"]
        rows.append(row)
    frame = pd.DataFrame(rows, columns=[*_COLUMNS])
    frame["p_adjusted"] = holm(frame["p_adjusted"].to_numpy("float64"))
    frame["moved_ns"] = moved_between(frame.assign(level=1))["moved_ns"].to_numpy()
    return _with_intervals(frame, list(counted.values()), paired)


def _with_intervals(frame: pd.DataFrame, counted: list[_Sides], paired: bool) -> Paid:
    # What moved is what some parts lost and others gained, so its interval covers either sum. But
    # these parts were chosen by their figures, and chance alone sets such sums apart if the parts
    # are many. So a part of either kind has to be told by itself.
    found = {}
    for sign in (-1, 1, 0):
        of_sign = (frame["moved_ns"] * sign > 0) | (sign == 0)
        chosen = [counts for counts, is_in in zip(counted, of_sign, strict=True) if is_in]
        if chosen:
            observed = _observed(_summed(chosen), paired)
            found[sign] = change_of(*observed, False, paired), observed
    low = high = np.nan
    if -1 in found and 1 in found:
        (lost, _), (gained, _) = found[-1], found[1]
        low, high = min(-lost.high, gained.low), min(-lost.low, gained.high)
    told = frame.loc[is_told(frame), "moved_ns"]
    is_moved = bool(low > 0 and (told < 0).any() and (told > 0).any())
    change, sides = found.get(0, (None, ()))
    few = bool(counted) and min(map(len, counted[0])) < LEAST_REPEATS
    blocks = min(len(side.numerator) for side in sides) if few else 0
    return Paid(frame, low, high, is_moved, change, blocks)


def _summed(counted: list[_Sides]) -> _Sides:
    # Time of several parts, run by run.
    sides: _Sides = [[], []]
    for at, side in enumerate(sides):
        for of_run in zip(*(counts[at] for counts in counted), strict=True):
            done = of_run[0][1]
            side.append((np.sum([above for above, _ in of_run], axis=0), done))
    return sides


def is_told(parts: pd.DataFrame) -> "pd.Series[bool]":
    # Which parts changed by more than chance explains.
    excludes = (parts["change_low"] > 0) | (parts["change_high"] < 0)
    return excludes & (parts["p_adjusted"] < CHANCE)


def _observed(counts: _Sides, paired: bool) -> tuple[Side, Side]:
    # As the tree sums: all time over all work, whose observations are runs or blocks of time.
    if min(map(len, counts)) < LEAST_REPEATS:
        base, new = sides_of(counts)
        return base, new
    sums = (np.array([(above.sum(), below.sum()) for above, below in side]).T for side in counts)
    made = _of_pairs if paired else _of_runs
    base, new = (made(above, below) for above, below in sums)
    return base, new


def _of_runs(above: Floats, below: Floats) -> Side:
    return Side(above, below, "blocks")


def _of_pairs(above: Floats, below: Floats) -> Side:
    # Pairs are of figures. Those of runs have the ratio of their sums as their mean if each counts
    # for as much as the work that it did.
    ratio = above.sum() / below.sum()
    return repeats(ratio + (above - ratio * below) / below.mean())


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


def most_changed(parts: pd.DataFrame) -> list[dict[Any, Any]]:
    # Those that changed beyond chance, at most 3, else the one that changed most.
    known = parts[parts["change"].notna() | (parts["base_ns_per_unit"] == 0)]
    known = known.sort_values("difference_ns", key=abs, ascending=False)
    known = known.assign(is_told=is_told(known))
    told = known[known["is_told"]]
    rows = (told if len(told) else known[:1])[:3]
    return rows.assign(per_unit="ns").to_dict("records")


def moved_parts(parts: pd.DataFrame, sign: int) -> list[dict[Any, Any]]:
    # Those from (-1) or to which work moved, without what is less than a tenth of it.
    part_ns = sign * parts["moved_ns"]
    rows = parts.assign(part_ns=part_ns)[part_ns > 0.1 * part_ns.clip(lower=0).sum()]
    return rows.sort_values("part_ns", ascending=False).to_dict("records")
