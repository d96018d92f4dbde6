# What samples come to: by component, by what interrupts were off in, and by function. Without
# pandas: `netcost functions` answers before that could be imported.

from collections.abc import Iterable
from typing import Any

from ...stats.shares import effective, share_ends
from .part import Part, Parts
from .rules import APPLICATION, IDLE, UNCLASSIFIED

# Of a component so many functions are named.
_NAMED = 3
_USER = "(user mode)"
_NAN = float("nan")

Row = dict[str, Any]


def summed(found: Parts) -> dict[str, Any]:
    """What components() answers, its tables as rows, falling by samples."""
    code = {name: at for at, name in enumerate(found.components)}
    ordered = sorted(found.parts, key=lambda part: code[part.component])
    rows = _with_shares(_sums(ordered, "component"), found)
    decided = (part for part in ordered if part.samples and part.decided_by)
    deciding = _sums(decided, "component", "decided_by")
    for row in rows:
        names = [one["decided_by"] for one in deciding if one["component"] == row["component"]]
        row["deciding_functions"] = ", ".join(names[:_NAMED])
    busy = [row for row in rows if row["component"] != IDLE]
    kernel = [row for row in busy if row["component"] != APPLICATION]
    unnamed = [row for row in kernel if row["component"] == UNCLASSIFIED]
    off = _sums((part for part in found.parts if part.interrupts_off_in), "interrupts_off_in")
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


def functions_of(found: Parts, user: bool = False) -> list[Row]:
    """Functions, by component, falling by samples; user: those of programs too."""
    parts = found.parts
    if not user:
        parts = [
            part._replace(function=part.function if part.in_kernel else _USER, dso=None)
            for part in parts
        ]
    return _with_shares(_sums(parts, "function", "module", "dso", "component"), found)


def _sums(parts: Iterable[Part], *names: str) -> list[Row]:
    # Samples and weight by these fields, falling by samples; those of no sample are left out.
    by: dict[tuple[Any, ...], Row] = {}
    for part in parts:
        key = tuple(getattr(part, name) for name in names)
        row = by.get(key)
        if row is None:
            row = by[key] = {**dict(zip(names, key, strict=True)), "samples": 0, "weight": 0}
        row["samples"] += part.samples
        row["weight"] += part.weight
    return sorted((row for row in by.values() if row["samples"]), key=lambda row: -row["samples"])


def _with_shares(rows: list[Row], found: Parts) -> list[Row]:
    # Shares of what is outside idle, with the ends of their intervals; NaN of idle.
    busy = [part for part in found.parts if part.component != IDLE]
    whole = sum(part.weight for part in busy)
    size = effective(float(whole), sum(part.squares for part in busy))
    for row in rows:
        share = row["weight"] / whole if whole and row["component"] != IDLE else _NAN
        low, high = share_ends(share * size, size)
        row |= {"busy_share": share, "busy_share_low": low, "busy_share_high": high}
    return rows


def _total(rows: list[Row], name: str, none: float = 0) -> Any:
    return sum(row[name] for row in rows) or none
