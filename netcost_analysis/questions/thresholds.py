"""A condition on a figure, for CI.

What its whole interval or range meets fails; what neither all of it meets nor none of it is not
judged, and does not pass.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import copysign, inf
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, Literal

from ..display.metrics import moved, quantity
from ..errors import ArgumentError, no_such
from ..units import absent, duration, share

if TYPE_CHECKING:
    import pandas as pd

_OPERATORS = {">": gt, ">=": ge, "<": lt, "<=": le}
_CONDITION = re.compile(
    r"\s*(?:change\(\s*(?P<changed>\w+)\s*\)|(?P<named>\w+))\s*(?P<operator>[<>]=?)"
    r"\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(?P<percent>%?)\s*",
    re.IGNORECASE | re.ASCII,
)
_BOTH = "some of it is beyond and some is not"


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A condition of --fail-if. why_not: why it could not be judged, empty where it was."""

    # value, low, high: the figure with its interval or range; None where there is none, or no end.
    # met: whether all of it is beyond the number. said: the figure as text. repeats: how many of
    # either side would tell in four of five experiments; None where they would not, or need not.
    # is_least: whether it may take more, since the scatter of repeats is hardly known.
    condition: str
    value: float | None
    low: float | None
    high: float | None
    met: bool
    why_not: str
    verdict: Literal["passed", "failed", "unjudged"]
    said: str
    repeats: int | None = None
    is_least: bool = False


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
            from .comparison.metrics import no_metric

            raise ArgumentError(no_metric(self.name, list(rows)))
        row = rows[self.name]
        self._require_share(self.of_change or row["per_unit"] == "share")
        key = "change" if self.of_change else "new"
        figure = row[key], row[f"{key}_low"], row[f"{key}_high"]
        from_zero = self.of_change and not row["is_relative"] and row["per_unit"] != "share"
        # In parts of 0 any difference is without end, and none is none.
        ends = [copysign(inf, end) if from_zero and end else end for end in figure[1:]]
        why = _why_not(row) or ("it has no interval" if any(map(absent, ends)) else "")
        # A figure that is refused is none to act on.
        said = "" if row["differs"] == "refused" else _said(figure, row, self.of_change)
        if said and row["observed_in"] == "blocks":
            counts = row["base_observations"], row["new_observations"]
            said += f", by {min(counts)} blocks of time of these recordings alone"
        repeats = self._repeats(row, figure, from_zero)
        is_few = row["differs"] == "too_few" or row["observed_in"] == "blocks"
        return self._judged(figure, ends, why, said, repeats, is_few)

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
        figure = value, value if absent(least) else least, value if absent(most) else most
        shown = {"share": share, "ns": duration}.get(unit, str)
        said = f"{shown(value)} ({shown(figure[1])} to {shown(figure[2])})"
        return self._judged(figure, figure[1:], "it is unknown" if absent(value) else "", said)

    def _require_share(self, is_share: bool) -> None:
        if self.in_percent and not is_share:
            raise ArgumentError(f"{self.text!r}: {self.name} is no share, and has no %")

    def _judged(
        self,
        figure: Iterable[Any],
        ends: Iterable[Any],
        why: str,
        said: str,
        repeats: int | None = None,
        is_least: bool = False,
    ) -> Condition:
        beyond = [] if why else [_OPERATORS[self.operator](end, self.number) for end in ends]
        why = why or ("" if len(set(beyond)) == 1 else _BOTH)
        verdict: Literal["passed", "failed", "unjudged"] = "unjudged"
        if not why:
            verdict = "failed" if beyond[0] else "passed"
        value, low, high = map(_plain, figure)
        return Condition(
            condition=self.text,
            value=value,
            low=low,
            high=high,
            met=verdict == "failed",
            why_not=why,
            verdict=verdict,
            said=said,
            repeats=repeats if why else None,
            is_least=bool(why and repeats and is_least),
        )

    def _repeats(self, row: Mapping[Any, Any], figure: tuple[Any, ...], from_zero: bool) -> Any:
        # Blocks of time say how much a run scatters in itself, so of repeats this is the least.
        from ..stats.change import LEAST_REPEATS, deviation_of, repeats_that_tell

        if row["differs"] in ("refused", "one_side"):
            return None
        value, low, high = figure
        if row["differs"] == "too_few" or absent(low) or absent(high):
            return LEAST_REPEATS
        apart = (0.0 if from_zero else self.number) - value
        wide = high - value if apart > 0 else value - low
        observed = min(row["base_observations"], row["new_observations"])
        needed = repeats_that_tell(abs(apart), deviation_of(wide, observed))
        if needed is None or row["observed_in"] == "repeats":
            return needed
        return max(LEAST_REPEATS, -(-needed // observed))


def _why_not(row: Mapping[Any, Any]) -> str:
    if row["differs"] == "refused":
        return f"the sides are not to be compared: {row['refused_by']}"
    return {
        "too_few": "fewer than 6 repeats on a side allow no claim",
        "one_side": "one side lacks it",
    }.get(row["differs"], "")


def _said(figure: tuple[Any, ...], row: Mapping[Any, Any], of_change: bool) -> str:
    # "+134 % (+130 to +140)".
    if of_change:
        texts = [moved(one, row["is_relative"], row["per_unit"]) for one in figure]
        texts[1:] = [text.removesuffix(" %") for text in texts[1:]]
    else:
        ends = ("no end" if abs(one) == inf else "" for one in figure)
        texts = [
            end or quantity(one, row["per_unit"]) for end, one in zip(ends, figure, strict=True)
        ]
    return texts[0] if absent(figure[1]) else f"{texts[0]} ({texts[1]} to {texts[2]})"


def _plain(one: Any) -> float | None:
    return None if absent(one) or abs(one) == inf else float(one)


def parsed(text: str) -> Threshold:
    """A condition. Raises ArgumentError for what is none."""
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise ArgumentError(
            f"{text!r} is not a condition: write NAME > NUMBER, NAME > NUMBER% or change(NAME) > "
            "NUMBER%, with >, >=, < or <="
        )
    in_percent = bool(found["percent"])
    number = float(found["number"]) / (100 if in_percent else 1)
    name = found["changed"] or found["named"]
    return Threshold(text, name, bool(found["changed"]), found["operator"], number, in_percent)
