"""A comparison as a write-up: a mail for a list, Markdown for an issue, HTML with its pictures."""

# All forms show the same sections. HTML looks as a notebook's report does; no cell is run, because
# everything is computed already.

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
    against,
    changes_text,
    continued,
    intervals_text,
    narrow,
    paragraphs,
    parameters,
    predicted,
    shell_line,
    subject,
    tree_text,
    wrapped,
)
from .pages import as_output, page, release
from .provenance import Commits, identities, machines, recorders

if TYPE_CHECKING:
    from ..answers.answer import Answer
    from ..comparison.comparison import Comparison
    from ..opening.experiment import Experiment

_FIRST = ("changes", "cost_tree")
_COMPONENTS = "component_changes"
# Its words head the list of runs.
_RUNS = "runs_compared"
# The rows of observations are for other programs.
_UNSHOWN = ("observations", _RUNS)
# Their words have all rows already.
_IN_WORDS = ("other_causes", "throughput_prediction")
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


class WriteUp:
    """A comparison's sections, and the forms they are written in.

    comparison: what is asked. command: the words that compared, as a shell has them. experiments:
    those whose runs are in it. commits: what is known of both kernels. Raises CaptureError or
    ArgumentError where there is nothing to compare.
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
        asked = [one.name for one in questions().values() if one.asked_of == "comparison"]
        answers = {name: comparison.ask(name) for name in each("asking the questions", asked)}
        # Few recordings have samples of functions: a lack of them is not worth mentioning.
        self.answers = {
            name: one
            for name, one in answers.items()
            if not isinstance(one.refusal, LackingError) or one.refusal.lacks != "samples"
        }
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
        """The subject: the one figure, and both sides."""
        return subject(self.comparison, self.first)

    @property
    def verdict(self) -> str:
        """What was done, who paid for it and what speaks against it: Markdown, a paragraph each."""
        if self.is_of_samples:
            return self.first.words
        changes, tree = (self.answers[name] for name in _FIRST)
        # The work's paragraph, and the costs', unless the work is all that is told.
        told, moved = changes.words.strip().split("\n\n"), tree.words.strip()
        if changes["refusals"]:
            # Why. What each side costs is in the tables; the difference is nobody's.
            moved = told.pop(0)
        elif tree.refusal is not None:
            why = str(tree.refusal)
            moved = f"{escaped(why[:1].upper() + why[1:])}."
        paid = [*told[1:], moved, predicted(self.answers["throughput_prediction"])]
        line = against(self.answers["comparability"])
        return "\n\n".join(filter(None, (told[0], " ".join(filter(None, paid)), line))) + "\n"

    @property
    def sections(self) -> Iterator[Section]:
        """Verdict first, then where and how it was measured, the evidence, how to do it again."""
        yield Section("", self.verdict)
        if self.commits:
            yield Section("Commits", head="\n".join(self.commits))
        if said := machines(self.comparison):
            yield Section("Machine", said)
        notes = [note for one in self.experiments for note in one.experiment.notes]
        listed = "".join(f"- {escaped(note)}.\n" for note in notes)
        base, differs = self.comparison.base.labels, self.comparison.differs
        shared = {name: some[0] for name, some in base.items() if name not in differs}
        yield Section("Test", f"{self.answers[_RUNS].words}{listed}", parameters(shared))
        if self.is_of_samples:
            # Says once why everything that needs a ledger is missing.
            why = f"Of samples alone: {escaped(self.answers['changes'].refusal)}.\n"
            yield Section("What changed for each packet", why, "", self.first, _generic(self.first))
        else:
            yield from self._of_ledger()
        for name, answer in self.answers.items():
            # What cannot be answered is said by `netcost ask`, and is no news to who gets the mail.
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
        table = changes_text(frame, self.answers["observations"].tables["spread"])
        shown = f"{table}\n\n{intervals_text(frame)}".strip("\n")
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
        """72 columns, nothing bold: a mail."""
        made = ["\n".join(wrapped(f"Subject: {one_line(self.title)}", " "))]
        for one in self.sections:
            if one.title:
                made.append(f"{one.title}\n{'-' * len(one.title)}")
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
        parts = [_html(f"# {escaped(self.title)}")]
        for one in self.sections:
            title = f"## {escaped(one.title)}" if one.title else ""
            head = fenced(one.head) if one.head else ""
            parts += [_html(markdown) for markdown in (title, one.words, head) if markdown]
            if one.answer is not None:
                parts += [as_output(*shown) for shown in one.answer.evidence()]
        return page(parts, self.title, self.commands[0])


def _html(markdown: str) -> str:
    return without_controls(as_html(markdown))


def _generic(answer: "Answer") -> str:
    # The table of a question without a layout of its own.
    asked = answer.question
    if answer.refusal or not asked.rows or not len(answer.frame):
        return ""
    columns = [name for name in asked.columns if name in answer.frame.columns]
    frame = answer.frame[columns] if columns else answer.frame
    known = frame.dropna(axis="columns", how="all")
    return narrow(figures(known, answer.start_ns, asked.rows, shares=asked.shares))


def _method(answer: "Answer") -> str:
    # How the figures were made, according to the question's own documentation.
    said = cleandoc((answer.question.function.__doc__ or "").partition("\n")[2])
    return "\n\n".join(str(escaped(one)) for one in said.split("\n\n")) + "\n"
