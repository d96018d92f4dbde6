"""A comparison as a write-up: a mail for a list, Markdown for an issue, HTML with pictures.

All forms have the same sections. HTML has the style of a report, but runs no notebook.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from typing import TYPE_CHECKING

import pandas as pd

from ..answers.registry import questions
from ..display.tables import figures
from ..display.templates import as_html, escaped, fenced, one_line, without_controls
from ..errors import LackingError
from ..progress import each
from ..units import printable
from .mail_text import (
    WIDTH,
    against,
    changes_text,
    intervals_text,
    narrow,
    paragraphs,
    parameters,
    predicted,
    subject,
    tree_text,
    wrapped,
)
from .pages import as_output, page, release
from .provenance import Commits, identities, machines, recorders
from .shell_text import continued, shell_line

if TYPE_CHECKING:
    from ..answers.answer import Answer
    from ..comparison.comparison import Comparison
    from ..opening.experiment import Experiment

_FIRST = ("changes", "cost_tree")
_COMPONENTS = "component_changes"
# Its words introduce the test.
_RUNS = "runs_compared"
# The rows of observations are for other programs.
_UNSHOWN = ("observations", _RUNS)
# Their words already have all rows.
_IN_WORDS = ("other_causes", "throughput_prediction")
_TAG = re.compile(r"[A-Z][a-z-]+: ")
_AGAIN = "To do this again"


@dataclass(frozen=True)
class Section:
    """A part of a write-up.

    title: empty for the first. words: Markdown. head: preformatted lines. answer: a page shows its
    pictures and table. table: replaces these in 72 columns.
    """

    title: str
    words: str = ""
    head: str = ""
    answer: "Answer | None" = None
    table: str = ""


class WriteUp:
    """A comparison's sections as text, Markdown and HTML.

    command: the words of the command that compared. experiments: those that runs come from.
    commits: of both kernels. Raises CaptureError or ArgumentError if there is nothing to compare.
    """

    def __init__(
        self,
        comparison: "Comparison",
        command: Sequence[str],
        experiments: "Sequence[Experiment]" = (),
        commits: Commits | None = None,
    ) -> None:
        self.comparison, self.experiments = comparison, experiments
        self.commits = (commits or Commits()).lines(comparison)
        asked = [item.name for item in questions().values() if item.asked_of == "comparison"]
        answers = {name: comparison.ask(name) for name in each("asking the questions", asked)}
        # Few recordings have samples of functions, so a lack of them is not worth mentioning.
        self.answers = {
            name: answer
            for name, answer in answers.items()
            if not isinstance(answer.refusal, LackingError) or answer.refusal.lacks != "samples"
        }
        if not self.is_of_samples:
            _ = self.answers["changes"].parts
        self.commands = [shell_line(command), *recorders(comparison, experiments)]

    @property
    def is_of_samples(self) -> bool:
        """Whether the recordings have no ledger, so that samples say what changed."""
        components = self.answers.get(_COMPONENTS)
        refused = self.answers["changes"].refusal
        return refused is not None and components is not None and components.refusal is None

    @property
    def first(self) -> "Answer":
        """The answer whose words are the verdict."""
        return self.answers[_COMPONENTS if self.is_of_samples else _FIRST[0]]

    @property
    def title(self) -> str:
        """The subject: the most important figure, and both sides."""
        return subject(self.comparison, self.first)

    @property
    def verdict(self) -> str:
        """What was done, who paid for it and objections, as paragraphs of Markdown."""
        if self.is_of_samples:
            return self.first.words
        changes, tree = (self.answers[name] for name in _FIRST)
        # The first paragraph is about the work, the rest about costs, if there is anything to say.
        told, moved = changes.words.strip().split("\n\n"), tree.words.strip()
        if changes["refusals"]:
            # The reason. The tables have each side's cost; their difference would mean nothing.
            moved = told.pop(0)
        elif tree.refusal is not None:
            why = str(tree.refusal)
            moved = f"{escaped(why[:1].upper() + why[1:])}."
        paid = [*told[1:], moved, predicted(self.answers["throughput_prediction"])]
        line = against(self.answers["comparability"])
        return "\n\n".join(filter(None, (told[0], " ".join(filter(None, paid)), line))) + "\n"

    @property
    def sections(self) -> Iterator[Section]:
        """The verdict, where and how it was measured, the evidence, how to do it again."""
        yield Section("", self.verdict)
        if self.commits:
            head = "\n".join(line for commit in self.commits for line in _commit(commit))
            yield Section("Commits", head=head)
        if described := machines(self.comparison):
            yield Section("Machine", described)
        notes = [note for opened in self.experiments for note in opened.experiment.notes]
        if not described:
            # Without a recording this is all that is known of the machine.
            notes = [*map(_kept, self.experiments), *notes]
        listed = "".join(f"- {escaped(note)}.\n" for note in notes)
        base, differs = self.comparison.base.labels, self.comparison.differs
        shared = {name: values[0] for name, values in base.items() if name not in differs}
        yield Section("Test", f"{self.answers[_RUNS].words}{listed}", parameters(shared))
        if self.is_of_samples:
            # Say once why everything that needs a ledger is missing.
            why = f"Of samples alone: {escaped(self.answers['changes'].refusal)}.\n"
            yield Section("What changed for each packet", why, "", self.first, _generic(self.first))
        else:
            yield from self._of_ledger()
        for name, answer in self.answers.items():
            # Refusals are no news to the mail's readers; `netcost ask` has them.
            if answer.refusal is not None or name in (*_FIRST, *_UNSHOWN) or answer is self.first:
                continue
            table = "" if name in _IN_WORDS else _generic(answer)
            yield Section(name.replace("_", " ").capitalize(), answer.words, "", answer, table)
        yield Section("Method", _method(self.first))
        yield Section(_AGAIN, "\n\n".join(map(fenced, self.commands)))
        yield Section("Files", identities(self.comparison))

    def _of_ledger(self) -> Iterator[Section]:
        changes, tree = (self.answers[name] for name in _FIRST)
        works = [row["metric"] for row in changes["work_rows"]]
        frame = changes.frame
        frame = pd.concat([frame[frame["metric"].isin(works)], frame[~frame["metric"].isin(works)]])
        shown = f"{changes_text(frame)}\n\n{intervals_text(frame)}".strip("\n")
        yield Section("What changed", head=self._head, answer=changes, table=shown)
        if tree.refusal is None:
            yield Section("Where CPU time went", answer=tree, table=tree_text(tree.frame))

    @property
    def _head(self) -> str:
        lines = []
        for side in self.comparison.sides:
            named = f"{side + ':':<5} {one_line(self.comparison.named(side))}"
            lines += wrapped(named, " " * 6)
        return "\n".join(lines)

    def text(self) -> str:
        """Text in 72 columns, for a mail."""
        made = ["\n".join(wrapped(f"Subject: {one_line(self.title)}", " "))]
        for section in self.sections:
            if section.title:
                made.append(f"{section.title}\n{'-' * len(section.title)}")
            if section.title == _AGAIN:
                made += [continued(command, WIDTH) for command in self.commands]
            elif section.words:
                made.append(paragraphs(section.words))
            made += filter(None, (section.head, section.table))
        return "\n\n".join([*made, f"netcost {printable(release())}"]) + "\n"

    def markdown(self) -> str:
        """The same with headings and fences, for an issue."""
        made = [f"# {escaped(self.title)}"]
        for section in self.sections:
            if section.title:
                made.append(f"## {escaped(section.title)}")
            if section.words:
                made.append(section.words.strip())
            made += [fenced(lines) for lines in (section.head, section.table) if lines]
        return "\n\n".join([*made, "---", f"netcost {escaped(release())}"]) + "\n"

    def html(self) -> str:
        """One page in the style of a report, with pictures."""
        parts = [_html(f"# {escaped(self.title)}")]
        for section in self.sections:
            title = f"## {escaped(section.title)}" if section.title else ""
            head = fenced(section.head) if section.head else ""
            parts += [_html(markdown) for markdown in (title, section.words, head) if markdown]
            if section.answer is not None:
                parts += [as_output(*shown) for shown in section.answer.evidence()]
        return page(parts, self.title, self.commands[0])


def _kept(opened: "Experiment") -> str:
    known = opened.experiment
    lasted = f"from {known.started or 'unknown'} to {known.ended or 'unknown'}"
    return f"{opened.path.name}: kernel {known.kernel or 'unknown'}, {lasted}"


def _commit(line: str) -> list[str]:
    # Programs read tags, which are a line each.
    return [line] if _TAG.match(line) else wrapped(line, "      ")


def _html(markdown: str) -> str:
    return without_controls(as_html(markdown))


def _generic(answer: "Answer") -> str:
    # The table of a question that has no layout of its own.
    asked = answer.question
    if answer.refusal or not asked.rows or not len(answer.frame):
        return ""
    columns = [name for name in asked.columns if name in answer.frame.columns]
    frame = answer.frame[columns] if columns else answer.frame
    known = frame.dropna(axis="columns", how="all")
    return narrow(figures(known, answer.start_ns, asked.rows, shares=asked.shares))


def _method(answer: "Answer") -> str:
    # The question's docstring says how the figures were made.
    documentation = cleandoc((answer.question.function.__doc__ or "").partition("\n")[2])
    return "\n\n".join(str(escaped(paragraph)) for paragraph in documentation.split("\n\n")) + "\n"
