"""A write-up of more than two sides: a table of cases by loads, as in cover letters."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from string import ascii_uppercase
from typing import Any

import pandas as pd

from ..display.metrics import KEY, found, from_to, judged, metric_name
from ..display.names import condition, cut, label_name, padded
from ..display.templates import as_html, escaped, fenced, one_line, without_controls
from ..units import plural, printable
from .mail_text import WIDTH, compact, distinct_short_names, intervals_text, wrapped
from .pages import page, release
from .shell_text import continued, shell_line

_CASE, _CELL = 20, 10
# The number of columns that fit 72 characters.
_COLUMNS = 5
_KEY = f"{KEY}; few: fewer than 6 repeats."
_EACH = "95 % intervals, load and case behind each; p is corrected over all:"


def _line(name: str, cells: Iterable[str]) -> str:
    return f"{padded(name, _CASE)}{''.join(f'{cell:>{_CELL}}' for cell in cells)}".rstrip()


class CaseTable:
    """The rows of `cases` as text, Markdown and HTML.

    by: the label that distinguishes cases. base: its value for the base. command: the words of the
    command that compared them.
    """

    def __init__(self, rows: pd.DataFrame, by: str, base: str, command: Sequence[str]) -> None:
        self.rows, self.by, self.base = rows, by, base
        self.command = shell_line(command)
        self._loads = list(dict.fromkeys(rows["load"]))
        self._cases = list(dict.fromkeys(rows["case"]))

    @property
    def title(self) -> str:
        """The numbers of cases and loads, and the base."""
        by = label_name(self.by)
        cases = plural(len(self._cases), "case")
        loads = plural(len(self._loads), "load")
        most = f": {metric_name(self._most)} {judged(self._most)}" if self._most else ""
        return one_line(f"{cases} of {by} against {condition(self.by, self.base)}, {loads}{most}")

    @cached_property
    def _most(self) -> dict[Any, Any] | None:
        # The cell that differs most, of the first metric that differs anywhere.
        told = self.rows[self.rows["differs"] == "yes"].to_dict("records")
        of_first = [row for row in told if row["metric"] == told[0]["metric"]]
        # Blocks of time say nothing about other runs, so repeats come first.
        return max(
            of_first,
            key=lambda row: (row["observed_in"] == "repeats", abs(row["change"])),
            default=None,
        )

    @property
    def verdict(self) -> str:
        """The cell that differs most, and how many differ."""
        told = int((self.rows["differs"] == "yes").sum())
        judged = int(self.rows["differs"].isin(["yes", "no"]).sum())
        unchanged = int(self.rows["is_unchanged"].sum())
        left = len(self.rows) - judged
        more = f" {plural(left, 'cell')}: too few repeats, or refused." if left else ""
        by_blocks = int((self.rows["observed_in"] == "blocks").sum())
        if by_blocks:
            more += f" {plural(by_blocks, 'cell')}: by blocks of time, of these recordings alone."
        row = self._most
        most = row and (
            f"The largest change: {metric_name(row)} {found(row)}, {from_to(row)}, with "
            f"{condition(self.by, row['case'])} in {self._letter(row['load'])}"
            f"{', by blocks of time' if row['observed_in'] == 'blocks' else ''}. "
        )
        return one_line(
            f"{most or ''}{told} of {plural(judged, 'cell')} "
            f"{'differs' if told == 1 else 'differ'} from the base, {unchanged} unchanged within "
            f"5 %, {judged - told - unchanged} undecided; one correction over all (Holm).{more}"
        )

    @property
    def _blocks(self) -> Iterator[tuple[str, str]]:
        # Yields a title and a text table for each metric.
        for metric in dict.fromkeys(self.rows["metric"]):
            rows = self.rows[self.rows["metric"] == metric].to_dict("records")
            name = cut(metric_name(rows[0]), WIDTH)
            for row in rows:
                row["metric"] = f"{self._letter(row['load'])}, {row['case']}"
            intervals = intervals_text(pd.DataFrame(rows), _EACH)
            yield name, f"{self._table(rows)}\n\n{intervals}".rstrip()

    def _table(self, rows: list[dict[str, Any]]) -> str:
        cells = {(row["case"], row["load"]): row for row in rows}
        bases = {row["load"]: row for row in rows}
        names = distinct_short_names([self.base, *self._cases], _CASE)
        lines: list[str] = []
        for at in range(0, len(self._loads), _COLUMNS):
            loads = self._loads[at : at + _COLUMNS]
            of_base = [
                compact(bases[load]["base"], bases[load]["per_unit"]) if load in bases else ""
                for load in loads
            ]
            lines += [""] if at else []
            lines += [_line("", map(self._letter, loads)), _line(names[self.base], of_base)]
            for case in self._cases:
                shown = (self._cell(cells.get((case, load))) for load in loads)
                lines.append(_line(names[case], shown))
        return "\n".join(lines)

    @staticmethod
    def _cell(row: dict[str, Any] | None) -> str:
        if row is None:
            return ""
        text = "few" if row["differs"] == "too_few" else judged(row)
        return text.replace(" points", " pp").replace(",", "")

    def _letter(self, load: str) -> str:
        at, letters = self._loads.index(load), ascii_uppercase
        return letters[at] if at < len(letters) else letters[at // 26 - 1] + letters[at % 26]

    @property
    def _legend(self) -> list[str]:
        return [f"{self._letter(load)}: {one_line(load) or 'all runs'}" for load in self._loads]

    def text(self) -> str:
        """Text in 72 columns, for a mail."""
        made = [
            "\n".join(wrapped(f"Subject: {self.title}", " ")),
            "\n".join(wrapped(self.verdict)),
            "\n".join(line for entry in self._legend for line in wrapped(entry, "   ")),
        ]
        made += [f"{title}\n{'-' * len(title)}\n\n{table}" for title, table in self._blocks]
        made += [_KEY, f"To do this again\n----------------\n\n{continued(self.command, WIDTH)}"]
        return "\n\n".join([*made, f"netcost {printable(release())}"]) + "\n"

    def markdown(self) -> str:
        """The same with headings and fences."""
        made = [f"# {escaped(self.title)}", str(escaped(self.verdict))]
        made.append("\n".join(f"- {escaped(entry)}" for entry in self._legend))
        for title, table in self._blocks:
            made += [f"## {escaped(title)}", fenced(table)]
        made += [_KEY, "## To do this again", fenced(self.command), "---"]
        return "\n\n".join([*made, f"netcost {escaped(release())}"]) + "\n"

    def html(self) -> str:
        """One page in the style of a report."""
        return page([without_controls(as_html(self.markdown()))], self.title, self.command)
