"""A verdict in a line: the subject of a mail, and what speaks against the comparison."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from ..display.metrics import found, metric_name, moved, span
from ..units import absent, plural, signed_share

if TYPE_CHECKING:
    from ..answers.answer import Answer
    from ..comparison.comparison import Comparison

_KINDS = {"refused": "refusal", "warning": "warning", "note": "note"}


def subject(comparison: "Comparison", changes: "Answer") -> str:
    """The one figure, of the work where it is known, and what it is of: `X -60 %: a -> b`."""
    sides = f"{comparison.named('base')} -> {comparison.named('new')}"
    if changes.refusal is not None:
        return f"cost of a packet by component: {sides}"
    rows: list[dict[str, Any]] = [*changes["work_rows"], *changes["primary_rows"]]
    if comparison.primary is not None:
        rows = [*changes["primary_rows"]]
    if changes["refusals"]:
        return f"not compared: {sides}"
    told = [row for row in rows if row["differs"] == "yes"] or rows
    return f"{metric_name(told[0])} {_short(told[0])}: {sides}"


def _short(row: dict[str, Any]) -> str:
    if row["differs"] == "yes":
        return moved(row["change"], row["is_relative"], row["per_unit"])
    if row["differs"] == "no" and span(row) and row["change_low"] <= 0 <= row["change_high"]:
        return f"unchanged within {span(row)}"
    if row["differs"] == "refused" or absent(row["change"]):
        return found(row)
    return f"{moved(row['change'], row['is_relative'], row['per_unit'])}, not told from chance"


def predicted(prediction: "Answer") -> str:
    """What the bottleneck's softirq time predicts, beside what was measured.

    "" where nothing was fully busy.
    """
    if prediction.refusal is not None or prediction["limit"] is None or prediction["refusals"]:
        return ""
    limit, row = prediction["limit"]["candidate"], prediction.frame.iloc[0]
    who = limit if limit.startswith("CPU") else f"The {limit}"
    said = f"{who} had no time to spare: its softirqs predict {_with_ends(row, 'predicted')}"
    beside = prediction["beside"]
    measured = f", {_with_ends(beside, 'change')} was measured" if beside else ""
    return f"{said} of throughput{measured}."


def _with_ends(row: Any, name: str) -> str:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if absent(low):
        return signed_share(value)
    return f"{signed_share(value)} ({signed_share(low).removesuffix(' %')} to {signed_share(high)})"


def against(comparability: "Answer") -> str:
    """What speaks against the comparison, in a sentence: how many of each kind, and which."""
    if comparability.refusal is not None:
        return ""
    frame = comparability.frame
    parts = []
    for severity, name in _KINDS.items():
        codes = Counter(frame.loc[frame["severity"] == severity, "code"])
        listed = ", ".join(
            f"{code.replace('_', ' ')}{f' ({count})' if count > 1 else ''}"
            for code, count in codes.most_common()
        )
        if codes:
            parts.append(f"{plural(codes.total(), name)}: {listed}")
    return f"Against it: {'; '.join(parts)}." if parts else "Nothing was found against it."
