# A comparison as a mail in the style of the kernel's mailing lists: subject, verdict and tables in
# 72 columns.

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..display.metrics import (
    KEY,
    deviation,
    found,
    judged,
    marked_chance,
    measured,
    metric_name,
    moved,
    quantity,
    signed_duration,
    span,
)
from ..display.names import columns_of, cut, that_fit
from ..display.tables import Table, lines_of
from ..display.templates import as_text, one_line
from ..questions.comparison.cost_tree import branches, left_out
from ..units import absent, duration, multiple, plural, signed_share

if TYPE_CHECKING:
    import pandas as pd

    from ..answers.answer import Answer
    from ..comparison.comparison import Comparison

WIDTH = 72
_GAP = 2
# Widths of the columns before a metric's name: base, change, new side.
_FIGURE, _DEVIATION, _CHANGE = 9, 6, 9
_METRIC = WIDTH - 2 * (_FIGURE + _DEVIATION) - _CHANGE - 2 - _GAP
_TIME = 9
# A smaller share is shown as 0.0 %.
_WORTH_SAYING = 0.0005
_INTERVALS = "95 % intervals; p is corrected for being many (*: named, so it is not):"
_BRANCH = WIDTH - 3 * _TIME - 2 - _GAP
_KINDS = {"refused": "refusal", "warning": "warning", "note": "note"}


def distinct_short_names(names: Iterable[str], width: int) -> dict[str, str]:
    """Each name, cut to a width. Names that would collide get numbers, except the first."""
    made: dict[str, str] = {}
    for name in names:
        short, number = cut(name, width), 1
        while short in made.values():
            number += 1
            mark = f"~{number}"
            short = cut(name, width - len(mark)) + mark
        made[name] = short
    return made


def paragraphs(markdown: str) -> str:
    """Markdown as text, each paragraph wrapped, without emphasis marks."""
    made = []
    for block in as_text(markdown).split("\n\n"):
        lines = []
        for line in block.split("\n"):
            hang = "  " if line.startswith("- ") else re.match(r" *", line)[0]  # type: ignore[index]
            lines += wrapped(line, hang)
        made.append("\n".join(lines))
    return "\n\n".join(made)


def wrapped(line: str, hang: str = "") -> list[str]:
    """A line, wrapped. Only a word that is longer than a line is broken."""
    return lines_of(line, WIDTH, hang, breaks=True)


def parameters(labels: Mapping[str, str]) -> str:
    """The labels that both sides share: a line of names and one of values, as lkp prints them."""
    if not labels:
        return ""
    lines: list[str] = []
    for indent, parts, end in (("", labels, ":"), ("  ", labels.values(), "")):
        text = "/".join(map(one_line, parts)) + end
        # Break lines after a slash.
        line = indent
        for piece in _pieces(text):
            if columns_of(line + piece) > WIDTH and line.strip():
                lines.append(line)
                line = indent + "  "
            line += piece
        lines.append(line)
    return "\n".join(lines)


def _pieces(text: str) -> Iterator[str]:
    for piece in re.findall(r"[^/]*/?", text):
        while piece:
            fit = that_fit(piece, WIDTH - 4)
            yield piece[:fit]
            piece = piece[fit:]


def changes_text(changes: "pd.DataFrame") -> str:
    """The rows of `changes`, one per line: base %stddev, change, new %stddev, metric."""
    rows = changes.to_dict("records")
    names = distinct_short_names((row["metric"] for row in rows), _METRIC)
    side = _FIGURE + _DEVIATION
    lines = [
        f"{'base':>{side}} {'':{_CHANGE}} {'new':>{side}}",
        f"{'-' * side} {'-' * (_CHANGE + 1 + side)}",
        f"{'%stddev':>{side}} {'change':>{_CHANGE}} {'%stddev':>{side}}",
    ]
    for row in rows:
        figures = [
            f"{compact(row[of], row['per_unit']):>{_FIGURE}}"
            f" {deviation(row[f'{of}_deviation_share']):{_DEVIATION - 1}}"
            for of in ("base", "new")
        ]
        shown = f"{figures[0]} {_points(judged(row)):>{_CHANGE}} {figures[1]}{'':{_GAP}}"
        lines.append(f"{shown}{cut(names[row['metric']], WIDTH - len(shown))}")
    return "\n".join([*lines, "", KEY, *_outcomes(rows)])


def _outcomes(rows: Sequence[Mapping[Any, Any]]) -> Iterator[str]:
    # Metrics of which it is known which way is better, and that differ.
    for outcome in ("worse", "better"):
        names = [one_line(row["metric"]) for row in rows if row["outcome"] == outcome]
        if names:
            yield from wrapped(f"{outcome}: {', '.join(names)}", "  ")


def compact(value: Any, per_unit: str) -> str:
    """A figure in 9 characters, without the unit of work, which is in the metric's name."""
    unit, _, of = per_unit.partition("/")
    if absent(value) or unit in ("ns", "share") or (of not in ("", "s") and unit != "bit"):
        return quantity(value, unit)
    if abs(value) >= 1e6:
        return multiple(value, 4)
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"


def _points(text: str) -> str:
    # The unit of work is in the metric's name.
    return text.replace(" points", " pp").replace(",", "").partition("/")[0]


def _short(value: Any, row: Mapping[Any, Any]) -> str:
    return _points(moved(value, row["is_relative"], row["per_unit"]))


def intervals_text(changes: "pd.DataFrame", title: str = _INTERVALS) -> str:
    """The interval and p of each change that has one."""
    rows = [row for row in changes.to_dict("records") if not absent(row["change_low"])]
    if not rows:
        return ""
    names = distinct_short_names((row["metric"] for row in rows), _METRIC)
    lines = [title, f"{'low':>10} {'change':>10} {'high':>10} {'p':>7}"]
    for row in rows:
        ends = " ".join(
            f"{_short(row[name], row):>10}" for name in ("change_low", "change", "change_high")
        )
        p = "refused" if row["differs"] == "refused" else marked_chance(row)
        shown = f"{ends} {p:>7}{'':{_GAP}}"
        lines.append(f"{shown}{cut(names[row['metric']], WIDTH - len(shown))}")
    return "\n".join(lines)


def tree_text(tree: "pd.DataFrame") -> str:
    """The rows of `cost_tree` as a tree. Small branches are only counted."""
    lines = [f"{'base':>{_TIME}} {'change':>{_TIME}} {'new':>{_TIME}}"]
    shown, small = branches(tree)
    for name, row in shown:
        times = (
            duration(row["base_ns_per_unit"]),
            signed_duration(row["difference_ns"]),
            duration(row["new_ns_per_unit"]),
        )
        figures = " ".join(f"{text:>{_TIME}}" for text in times)
        indent = "  " * row["level"]
        lines.append(f"{figures}{'':{_GAP}}{indent}{cut(name, _BRANCH - len(indent))}")
    return "\n".join([*lines, left_out(small)]).rstrip()


def narrow(table: Table) -> str:
    """As many columns of a table as fit, and a line with the number left out."""
    count = len(table.header)
    lines = table.text().split("\n")
    while count > 1 and max(map(columns_of, lines)) > WIDTH:
        count -= 1
        lines = table.only(range(count)).text().split("\n")
    if max(map(columns_of, lines)) > WIDTH:
        lines = [line if columns_of(line) <= WIDTH else cut(line, WIDTH) for line in lines]
    text, left = "\n".join(lines), len(table.header) - count
    return f"{text}\n({plural(left, 'column')} more: --json has all)" if left else text


def subject(comparison: "Comparison", answer: "Answer") -> str:
    """The most important figure, of the work if known, and the sides: `X -60 %: a -> b`.

    answer: the one whose words are the verdict.
    """
    sides = f"{comparison.named('base')} -> {comparison.named('new')}"
    rows: list[dict[str, Any]] = [*answer["primary_rows"]]
    if comparison.primary is None:
        rows = [*answer.parts.get("work_rows", ()), *rows]
    # Prefer a row that differs, then one that is judged, then one that both sides have.
    order = {"yes": 0, "refused": 2, "one_side": 3}
    row = min(rows, key=lambda row: order.get(row["differs"], 1))
    return f"{metric_name(row)} {_change(row)}: {sides}"


def _change(row: dict[str, Any]) -> str:
    # Like found(), but shorter for a subject.
    text = moved(row["change"], row["is_relative"], row["per_unit"])
    if row["differs"] == "yes":
        return text
    if row["is_unchanged"] or row["differs"] in ("refused", "one_side"):
        return found(row)
    excludes = row["change_low"] > 0 or row["change_high"] < 0
    return f"{text}, may be chance" if excludes or not span(row) else f"undecided ({span(row)})"


def predicted(prediction: "Answer") -> str:
    """What the bottleneck's softirq time predicts, beside what was measured.

    "" if nothing was fully busy, or its softirqs took too little.
    """
    if prediction.refusal is not None or prediction["limit"] is None or prediction["refusals"]:
        return ""
    limit, row = prediction["limit"]["candidate"], prediction.frame.iloc[0]
    if max(abs(row[f"predicted{end}"]) for end in ("", "_low", "_high")) < _WORTH_SAYING:
        return ""
    who = limit if limit.startswith("CPU") else f"The {limit}"
    text = f"{who} had no time to spare: its softirqs predict {_with_ends(row, 'predicted')}"
    beside = prediction["beside"]
    observed = f", {_with_ends(beside, 'change')} was measured {measured(beside)}" if beside else ""
    return f"{text} of throughput{observed}."


def _with_ends(row: Any, name: str) -> str:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if absent(low):
        return signed_share(value)
    return f"{signed_share(value)} ({signed_share(low).removesuffix(' %')} to {signed_share(high)})"


def against(comparability: "Answer") -> str:
    """Objections to the comparison in a sentence: the number of each kind, and which."""
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
