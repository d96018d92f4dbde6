# --fail-if: a condition on a figure, for CI. It is met where the figure's whole range meets it.

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any

import click

from ..errors import ArgumentError, no_such
from ..units import absent, printable

if TYPE_CHECKING:
    import pandas as pd

STATUS = 3
_OPERATORS = {">": gt, ">=": ge, "<": lt, "<=": le}
_CONDITION = re.compile(
    r"\s*(?:change\(\s*(?P<changed>\w+)\s*\)|(?P<named>\w+))\s*(?P<operator>[<>]=?)"
    r"\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(?P<percent>%?)\s*",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True)
class Condition:
    """A condition of --fail-if. why_not: why it could not be judged, empty where it was."""

    # value, low, high: the figure with its interval or range; None where there is none. met:
    # whether the whole range is beyond the number.
    condition: str
    value: float | None
    low: float | None
    high: float | None
    met: bool
    why_not: str


@dataclass(frozen=True)
class Threshold:
    """What --fail-if takes: `NAME > 5%`, or of a change `change(NAME) > 5%`."""

    text: str
    name: str
    of_change: bool
    operator: str
    number: float
    in_percent: bool

    def of_changes(self, changes: "pd.DataFrame") -> Condition:
        """Judge a row of `changes`. Raises ArgumentError for a metric that there is not."""
        rows = {row["metric"]: row for row in changes.to_dict("records")}
        if self.name not in rows:
            raise ArgumentError(no_such("metric", self.name, list(rows)))
        row = rows[self.name]
        part = self.of_change and row["is_relative"]
        self._require_share(part or row["per_unit"] == "share")
        key = "change" if self.of_change else "new"
        value, low, high = (row[one] for one in (key, f"{key}_low", f"{key}_high"))
        why = ""
        if row["differs"] not in ("yes", "no"):
            few = "fewer than 6 repeats on a side allow no claim"
            why = few if row["differs"] == "too_few" else "the sides are not to be compared"
        elif absent(low) or absent(high):
            why = "it has no interval"
        elif self.of_change and row["differs"] != "yes":
            why = "the sides cannot be told apart"
        return self._judged(value, low, high, why)

    def of_row(self, row: Mapping[str, Any]) -> Condition:
        """Judge a figure of a row whose upper bound, if it has one, is beside it as NAME_max_UNIT.

        Raises ArgumentError for a figure that the row has not.
        """
        if self.of_change:
            raise ArgumentError(f"{self.text!r}: of one capture there is no change")
        known = [name for name, value in row.items() if isinstance(value, int | float)]
        if self.name not in row:
            raise ArgumentError(no_such("figure", self.name, known))
        self._require_share(self.name.endswith("_share"))
        stem, _, unit = self.name.rpartition("_")
        value, most = row[self.name], row.get(f"{stem}_max_{unit}")
        least = row.get(f"{stem}_min_{unit}")
        low = value if absent(least) else least
        high = value if absent(most) else most
        return self._judged(value, low, high, "it is unknown" if absent(value) else "")

    def _require_share(self, is_share: bool) -> None:
        if self.in_percent and not is_share:
            raise ArgumentError(f"{self.text!r}: {self.name} is no share, and has no %")

    def _judged(self, value: Any, low: Any, high: Any, why_not: str) -> Condition:
        def plain(one: Any) -> float | None:
            return None if absent(one) or abs(one) == float("inf") else float(one)

        beyond = _OPERATORS[self.operator]
        ends = (low, high)
        met = not why_not and all(beyond(one, self.number) for one in ends)
        return Condition(self.text, plain(value), plain(low), plain(high), met, why_not)


def parsed(text: str) -> Threshold:
    """A condition. Raises ArgumentError for what is none."""
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise ArgumentError(
            f"{text!r} is no condition: write NAME > NUMBER, NAME > NUMBER% or change(NAME) > "
            "NUMBER%, with >, >=, < or <="
        )
    in_percent = bool(found["percent"])
    number = float(found["number"]) / (100 if in_percent else 1)
    name = found["changed"] or found["named"]
    return Threshold(text, name, bool(found["changed"]), found["operator"], number, in_percent)


def condition_option(help_text: str) -> Callable[..., Any]:
    def read(
        _: click.Context, __: click.Parameter, given: tuple[str, ...]
    ) -> tuple[Threshold, ...]:
        return tuple(map(parsed, given))

    return click.option(
        "--fail-if", "conditions", multiple=True, metavar="CONDITION", callback=read, help=help_text
    )


def conclude(judged: Iterable[Condition]) -> None:
    """Say on standard error what is met and what cannot be judged; exit with 3 where any is met."""
    failed = False
    for one in judged:
        if one.why_not:
            text = f"not judged: {printable(one.condition)}: {one.why_not}"
            print(f"netcost: {text}", file=sys.stderr)
        elif one.met:
            failed = True
            figure = f"{one.value:.4g} ({_end(one.low)} to {_end(one.high)})"
            print(f"netcost: failed: {printable(one.condition)}: {figure}", file=sys.stderr)
    if failed:
        click.get_current_context().exit(STATUS)


def _end(value: float | None) -> str:
    return "no end" if value is None else f"{value:.4g}"
