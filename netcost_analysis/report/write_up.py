"""A comparison as a write-up: text for a mail, Markdown for an issue, HTML with its pictures."""

# All forms show the same sections. HTML uses the templates of a notebook's report, so that both
# look alike; no kernel is started, because everything is computed already.

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..answers.registry import questions
from ..display.figures import figures
from ..display.templates import as_html, escaped, fenced, one_line, without_controls
from ..errors import LackingError
from ..files import replacing
from ..progress import each
from ..units import plural, printable
from .identities import identities, recorders
from .mail_text import (
    changes_text,
    continued,
    cut,
    intervals_text,
    narrow,
    paragraphs,
    parameters,
    shell_line,
    tree_text,
    wrapped,
)
from .report import page_of, release

if TYPE_CHECKING:
    from ..answers.answer import Answer
    from ..comparison.comparison import Comparison
    from ..opening.experiment import Experiment

# Most characters of a side's name in a title.
_NAME = 28
_FIRST = ("changes", "cost_tree")
_COMPONENTS = "component_changes"
# Its words head the list of runs.
_RUNS = "runs_compared"
# The rows of observations are for other programs.
_UNSHOWN = ("observations", _RUNS)
_AGAIN = "To do this again"


@dataclass(frozen=True)
class Section:
    """A part of a write-up.

    title: "" of the first. words: Markdown. head: lines as they stand. answer: whose pictures and
    table a page shows. table: what stands for them in 72 columns.
    """

    title: str
    words: str = ""
    head: str = ""
    answer: "Answer | None" = None
    table: str = ""


def _lacks(answer: "Answer") -> str:
    return answer.refusal.lacks if isinstance(answer.refusal, LackingError) else ""


class WriteUp:
    """A comparison's sections, and the forms they are written in.

    comparison: what is asked. command: the words that compared, as a shell has them. experiments:
    those whose runs are in it. Raises CaptureError or ArgumentError where there is nothing to
    compare.
    """

    def __init__(
        self,
        comparison: "Comparison",
        command: Sequence[str],
        experiments: "Sequence[Experiment]" = (),
    ) -> None:
        self.comparison = comparison
        asked = [one.name for one in questions().values() if one.asked_of == "comparison"]
        answers = {name: comparison.ask(name) for name in each("asking the questions", asked)}
        # Few recordings have samples of functions: a lack of them is not worth mentioning.
        self.answers = {name: one for name, one in answers.items() if _lacks(one) != "samples"}
        if not self.is_of_samples:
            _ = self.answers["changes"].parts
        self.commands = [shell_line(command), *recorders(comparison, experiments)]

    @property
    def is_of_samples(self) -> bool:
        """Whether recordings have no ledger, and samples say what changed in its place."""
        components = self.answers.get(_COMPONENTS)
        refused = self.answers["changes"].refusal
        return refused is not None and components is not None and components.refusal is None

    @property
    def first(self) -> "Answer":
        """The answer whose words are the verdict."""
        return self.answers[_COMPONENTS if self.is_of_samples else _FIRST[0]]

    @property
    def title(self) -> str:
        """Both sides, in a line."""
        return self._named(" against ")

    def _named(self, between: str) -> str:
        names = (f"{cut(self.comparison.named(side), _NAME)} ({side})" for side in ("base", "new"))
        return between.join(names)

    @property
    def sections(self) -> Iterator[Section]:
        """Verdict first, then the evidence, method, what was compared, and how to do it again."""
        sides = self._named(", ")
        yield Section("", self.first.words)
        if self.is_of_samples:
            # Says once why everything that needs a ledger is missing.
            why = f"Of samples alone: {escaped(self.answers['changes'].refusal)}.\n"
            title = f"What changed for each packet: {sides}"
            yield Section(title, why, self._head, self.first, _generic(self.first))
        else:
            yield from self._of_ledger(sides)
        for answer in self._shown:
            name = answer.question.name
            if name in _FIRST or answer is self.first:
                continue
            title = f"{name.replace('_', ' ').capitalize()}: {sides}"
            yield Section(title, answer.words, answer=answer, table=_generic(answer))
        yield Section("Method", _method(self._shown))
        runs = f"{self.answers[_RUNS].words}\n{identities(self.comparison)}"
        yield Section("What was compared", runs)
        yield Section(_AGAIN, "\n\n".join(map(fenced, self.commands)))

    def _of_ledger(self, sides: str) -> Iterator[Section]:
        changes, tree = (self.answers[name] for name in _FIRST)
        table = changes_text(changes.frame, self.answers["observations"].tables["spread"])
        shown = f"{table}\n\n{intervals_text(changes.frame)}".strip("\n")
        yield Section(f"What changed: {sides}", head=self._head, answer=changes, table=shown)
        shown = "" if tree.refusal else tree_text(tree.frame)
        yield Section(f"Where CPU time went: {sides}", tree.words, answer=tree, table=shown)

    @property
    def _shown(self) -> "list[Answer]":
        found = [answer for name, answer in self.answers.items() if name not in _UNSHOWN]
        return [one for one in found if one.refusal is None] if self.is_of_samples else found

    @property
    def _head(self) -> str:
        # The labels that both sides share, and a line for each side.
        common = {
            name: values[0]
            for name, values in self.comparison.base.labels.items()
            if name not in self.comparison.differs
        }
        lines = []
        for side, runs in self.comparison.sides.items():
            named = f"{side + ':':<5} {one_line(self.comparison.named(side))}"
            counted = f"{plural(len(runs), 'run')}, {len(runs.recorded)} recorded"
            lines += wrapped(f"{named}: {counted}", " " * 6)
        return "\n".join([parameters(common), "", *lines]).strip()

    def text(self) -> str:
        """72 columns, nothing bold: a mail."""
        made = []
        for one in self.sections:
            if one.title:
                title = wrapped(one_line(one.title))
                made.append("\n".join([*title, "-" * max(map(len, title))]))
            if one.title == _AGAIN:
                made += map(continued, self.commands)
            elif one.words:
                made.append(paragraphs(one.words))
            made += filter(None, (one.head, one.table))
        return "\n\n".join([*made, f"netcost {printable(release())}"]) + "\n"

    def markdown(self) -> str:
        """The same with headings and fences: an issue."""
        made = [f"# {escaped(self.title)}"]
        for one in self.sections:
            if one.title:
                made.append(f"## {escaped(one.title)}")
            if one.words:
                made.append(one.words.strip())
            made += [fenced(lines) for lines in (one.head, one.table) if lines]
        return "\n\n".join([*made, "---", f"netcost {escaped(release())}"]) + "\n"

    def html(self) -> str:
        """One page with the pictures inside, that looks as a report does."""
        from nbformat.v4 import new_code_cell, new_notebook, new_output

        shown: list[tuple[dict[str, Any], dict[str, Any]]] = [_html(f"# {escaped(self.title)}")]
        for one in self.sections:
            title = f"## {escaped(one.title)}" if one.title else ""
            head = fenced(one.head) if one.head else ""
            shown += [_html(markdown) for markdown in (title, one.words, head) if markdown]
            if one.answer is not None:
                shown += one.answer.evidence()
        outputs = [
            new_output("display_data", _encoded(data), metadata=about) for data, about in shown
        ]
        book = new_notebook(cells=[new_code_cell(outputs=outputs, id="write-up")])
        return page_of(book, self.title, self.commands[0])

    def write(self, output: str) -> None:
        """Write a file whole or not at all, in the form that its ending says."""
        form = {".txt": self.text, ".md": self.markdown}.get(Path(output).suffix, self.html)
        made = form()
        with replacing(output) as draft:
            draft.write_text(made, encoding="utf-8")


def _html(markdown: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"text/html": without_controls(as_html(markdown))}, {}


def _encoded(data: dict[str, Any]) -> dict[str, Any]:
    # Pictures are base64, as in a notebook's file.
    return {
        kind: b64encode(one).decode() if isinstance(one, bytes) else one
        for kind, one in data.items()
    }


def _generic(answer: "Answer") -> str:
    # The table of a question without a layout of its own.
    asked = answer.question
    if answer.refusal or not asked.rows or not len(answer.frame):
        return ""
    columns = [name for name in asked.columns if name in answer.frame.columns]
    frame = answer.frame[columns] if columns else answer.frame
    known = frame.dropna(axis="columns", how="all")
    return narrow(figures(known, answer.start_ns, asked.rows, shares=asked.shares))


def _method(answers: "Iterable[Answer]") -> str:
    # How questions are answered, according to their own documentation.
    said = []
    for answer in answers:
        summary, _, more = (answer.question.function.__doc__ or "").partition("\n")
        if answer.refusal is None:
            text = cleandoc(more) or summary
            said.append(f"- {escaped(answer.question.name)}: {escaped(text)}")
    return "\n".join(said)
