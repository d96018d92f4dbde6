# Sums of samples by component, by what ran with interrupts off, and by function. No pandas:
# `netcost functions` answers before it could be imported.

from collections.abc import Iterable
from typing import Any

from ...stats.shares import effective, share_ends
from .rules import APPLICATION, IDLE, UNCLASSIFIED
from .sample_groups import SampleGroup, SampleGroups

# How many functions are named per component.
_NAMED = 3
_USER = "(user mode)"
_NAN = float("nan")

Row = dict[str, Any]


def component_sums(found: SampleGroups) -> dict[str, Any]:
    """What components() answers, its tables as rows, falling by samples."""
    code = {name: at for at, name in enumerate(found.components)}
    ordered = sorted(found.groups, key=lambda group: code[group.component])
    rows = _with_shares(_sums(ordered, "component"), found)
    decided = (group for group in ordered if group.samples and group.decided_by)
    deciding = _sums(decided, "component", "decided_by")
    for row in rows:
        names = [one["decided_by"] for one in deciding if one["component"] == row["component"]]
        row["deciding_functions"] = ", ".join(names[:_NAMED])
    busy = [row for row in rows if row["component"] != IDLE]
    kernel = [row for row in busy if row["component"] != APPLICATION]
    unnamed = [row for row in kernel if row["component"] == UNCLASSIFIED]
    off = _sums((group for group in found.groups if group.interrupts_off_in), "interrupts_off_in")
    return {
        "components": rows,
        "interrupts_off": [
            row | {"busy_share": row["weight"] / _total(busy, "weight", _NAN)} for row in off
        ],
        "sampled_event": found.event,
        "is_timed": found.is_timed,
        "samples": _total(rows, "samples"),
        "busy_samples": _total(busy, "samples"),
        "kernel_samples": _total(kernel, "samples"),
        "unclassified_share": _total(unnamed, "weight") / _total(kernel, "weight", _NAN),
    }


def function_sums(found: SampleGroups, user: bool = False) -> list[Row]:
    """Functions, by component, falling by samples; user: those of programs too."""
    groups = found.groups
    if not user:
        groups = [
            group._replace(function=group.function if group.in_kernel else _USER, dso=None)
            for group in groups
        ]
    return _with_shares(_sums(groups, "function", "module", "dso", "component"), found)


def _sums(groups: Iterable[SampleGroup], *names: str) -> list[Row]:
    # Samples and weight by these fields, most samples first; groups without samples are left out.
    by: dict[tuple[Any, ...], Row] = {}
    for group in groups:
        key = tuple(getattr(group, name) for name in names)
        row = by.get(key)
        if row is None:
            row = by[key] = {**dict(zip(names, key, strict=True)), "samples": 0, "weight": 0}
        row["samples"] += group.samples
        row["weight"] += group.weight
    return sorted((row for row in by.values() if row["samples"]), key=lambda row: -row["samples"])


def _with_shares(rows: list[Row], found: SampleGroups) -> list[Row]:
    # Shares of the time outside idle, with their intervals; NaN for idle itself.
    busy = [group for group in found.groups if group.component != IDLE]
    whole = sum(group.weight for group in busy)
    size = effective(float(whole), sum(group.squares for group in busy))
    for row in rows:
        share = row["weight"] / whole if whole and row["component"] != IDLE else _NAN
        low, high = share_ends(share * size, size)
        row |= {"busy_share": share, "busy_share_low": low, "busy_share_high": high}
    return rows


def _total(rows: list[Row], name: str, none: float = 0) -> Any:
    return sum(row[name] for row in rows) or none
