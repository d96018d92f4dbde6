# What samples come to: by component, by what interrupts were off in, and by function.

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...stats.shares import effective, share_ends
from .interrupts import HIDDEN
from .part import Part, Parts
from .parts import IDLE
from .rules import APPLICATION, UNCLASSIFIED

# Of a component so many functions are named.
_NAMED = 3
_USER = "(user mode)"
_NAN = float("nan")

Row = dict[str, Any]


class Summed(NamedTuple):
    """What components() returns, its tables as rows."""

    components: list[Row]
    interrupts_off: list[Row]
    sampled_event: str
    is_timed: bool
    samples: int
    busy_samples: int
    kernel_samples: int
    unclassified_share: float


def summed(found: Parts) -> Summed:
    """Components, falling by samples, and what interrupts were off in."""
    fine = parted(found)
    by = _sums((row["component"], row["samples"], row["weight"]) for row in fine)
    rows = [{"component": name, "samples": row[0], "weight": row[1]} for name, row in by.items()]
    shares = _shares(rows, found)
    deciding = _deciding(found)
    for row in rows:
        row |= shares(row)
        row["deciding_functions"] = ", ".join(deciding.get(row["component"], ())[:_NAMED])
    busy = [row for row in rows if row["component"] != IDLE]
    kernel = [row for row in busy if row["component"] != APPLICATION]
    of_kernel = sum(row["weight"] for row in kernel)
    unnamed = sum(row["weight"] for row in rows if row["component"] == UNCLASSIFIED)
    whole = sum(row["weight"] for row in busy)
    hidden = [
        {
            "interrupts_off_in": row["interrupts_off_in"],
            "samples": row["samples"],
            "weight": row["weight"],
            "busy_share": _over(row["weight"], whole),
        }
        for row in fine
        if row["interrupts_off_in"] is not None
    ]
    return Summed(
        _falling(rows),
        hidden,
        found.event,
        found.is_timed,
        sum(row["samples"] for row in rows),
        sum(row["samples"] for row in busy),
        sum(row["samples"] for row in kernel),
        _over(unnamed, of_kernel),
    )


def parted(found: Parts) -> list[Row]:
    """A row per component and, of interrupts off, what they were off in, falling by samples."""
    hidden = (part.off_in for part in found.parts if part.component == HIDDEN)
    place = {name: at for at, name in enumerate(dict.fromkeys(hidden))}
    code = {name: at for at, name in enumerate(found.components)}
    by = _sums(((part.component, part.off_in), part.samples, part.weight) for part in found.parts)
    order = sorted(by, key=lambda key: (code[key[0]], place.get(key[1], 0)))
    return _falling(
        {
            "component": key[0],
            "interrupts_off_in": key[1],
            "samples": by[key][0],
            "weight": by[key][1],
        }
        for key in order
        if by[key][0]
    )


def functions_of(found: Parts, user: bool = False) -> list[Row]:
    """Functions, by component, falling by samples; user: those of programs too."""

    def key(part: Part) -> tuple[str | None, ...]:
        name = part.function if user or part.in_kernel else _USER
        return name, part.module, part.dso if user else None, part.component

    by = _sums((key(part), part.samples, part.weight) for part in found.parts)
    names = ("function", "module", "dso", "component")
    rows: list[Row] = [
        {**dict(zip(names, one, strict=True)), "samples": samples, "weight": weight}
        for one, (samples, weight) in by.items()
        if samples
    ]
    shares = _shares(rows, found)
    return _falling(row | shares(row) for row in rows)


def _sums(rows: Iterable[tuple[Any, int, int]]) -> dict[Any, tuple[int, int]]:
    # Samples and weight by key, in the order of the keys' first rows.
    by: dict[Any, tuple[int, int]] = {}
    for key, samples, weight in rows:
        known = by.get(key, (0, 0))
        by[key] = known[0] + samples, known[1] + weight
    return by


def _shares(rows: list[Row], found: Parts) -> Callable[[Row], Row]:
    # Of a row its share of what is outside idle, and the ends of its interval; NaN of idle.
    whole = sum(row["weight"] for row in rows if row["component"] != IDLE)
    busy = [part for part in found.parts if part.component != IDLE]
    counted = effective(
        float(sum(part.weight for part in busy)), sum(part.squares for part in busy)
    )

    def of(row: Row) -> Row:
        if row["component"] == IDLE or not whole:
            share, low, high = _NAN, _NAN, _NAN
        else:
            share = row["weight"] / whole
            low, high = share_ends(share * counted, counted)
        return {"busy_share": share, "busy_share_low": low, "busy_share_high": high}

    return of


def _deciding(found: Parts) -> dict[str, list[str]]:
    # Of each component the functions that put samples into it, most first.
    by: dict[tuple[str, str], int] = {}
    for part in found.parts:
        if part.samples and part.decided_by is not None:
            key = part.component, part.decided_by
            by[key] = by.get(key, 0) + part.samples
    named: dict[str, list[str]] = {}
    for component, function in sorted(by, key=lambda key: -by[key]):
        named.setdefault(component, []).append(function)
    return named


def _falling(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -row["samples"])


def _over(part: int, whole: int) -> float:
    return part / whole if whole else _NAN
