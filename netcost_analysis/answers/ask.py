"""``ask`` of a capture, timeline, experiment, comparison or fleet: topics of questions."""

import inspect
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Any

from .._native import CaptureError
from ..capture.checksum import begin
from ..capture.requires import MissingEventsError
from ..errors import ArgumentError, LackingError
from ..timeline.aggregates import together
from ..timeline.reading import fits
from .answer import Answer, about, refused
from .form import ALONE, SOURCES
from .question import Question
from .registry import TOPICS, listed, no_question, questions, questions_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pandas as pd

    from ..capture.capture import Capture
    from ..display.tables import Table
    from ..timeline.timeline import Timeline

# Tables with few rows, which the first pass yields at no extra cost.
_FEW = {"coverage", "migrations"}
# This question hashes the whole file and needs no timeline.
_HASHED = "provenance"
_HOW = {
    "experiment": ": netcost.open_experiment(FOLDER).ask",
    "comparison": ": netcost.compare(BASE, NEW).ask",
    "fleet": ": netcost.open_fleet(DIR).ask",
}


class Ask:
    """The questions about what was opened: ``ask.TOPIC.QUESTION()`` is an Answer.

    ``ask`` itself shows the table of questions, with what this capture lacks for each.
    ``ask.table`` is that table as a DataFrame. ``ask("QUESTION")`` answers a question by name.

    Parameters
    ----------
    source : Capture, Timeline, Experiment, Comparison or Fleet
        What is asked; for a recording without a trace, its Bundle.
    """

    def __init__(self, source: Any) -> None:
        self._source = source
        kinds = (kind.__name__ for kind in type(source).__mro__)
        self._kind = next(name for name in kinds if name in SOURCES)

    @property
    def _capture(self) -> "Capture":
        """The capture, also of a timeline."""
        capture: Capture = self._source if self._kind == "Capture" else self._source.capture
        return capture

    @cached_property
    def _whole(self) -> "Timeline":
        """The timeline, or all of the capture, cached so that its tables are made once."""
        timeline: Timeline = self._source if self._kind == "Timeline" else self._source.whole
        return timeline

    @property
    def _own(self) -> str:
        """The value of Question.asked_of for questions that suit this source."""
        return self._kind.lower() if self._kind in ALONE else "recording"

    def __call__(self, name: str, **options: Any) -> Answer:
        """Answer a question by name, whatever its topic.

        Parameters
        ----------
        name : str
            The question's name.
        **options : object
            The question's parameters.

        Returns
        -------
        Answer
            The answer, or why there is none.

        Raises
        ------
        ArgumentError
            For an unknown name or argument.
        """
        asked = questions().get(name)
        if asked is None:
            raise ArgumentError(no_question(name))
        return self._answer(asked, options)

    def prepare(self, *names: str) -> None:
        """Read a large recording once for several questions.

        Answers do not change. Without this, each question reads the recording by itself.

        Parameters
        ----------
        *names : str
            Topics and questions. With "provenance", another core hashes the file meanwhile.

        Raises
        ------
        ArgumentError
            For an unknown name.
        """
        timeline, asked = self._whole, list(_named(names))
        try:
            tables = {table for question in asked for table in question.tables}
            timeline.load("displaced", *sorted(tables & _FEW), allow_large=True)
            if _HASHED in names and not fits(timeline):
                begin(timeline.capture)
            together(timeline, [group for question in asked for group in question.grouped])
        except CaptureError:
            # Each question will say why.
            return

    def __getattr__(self, name: str) -> "Topic":
        if name not in TOPICS:
            raise AttributeError(f"no topic {name!r}; there are {', '.join(TOPICS)}")
        return Topic(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *TOPICS]

    def _missing(self, asked: Question[Any]) -> tuple[str, str]:
        # What is missing for an answer, and why in a sentence; "" for both if nothing is.
        try:
            self._sources(asked)
        except MissingEventsError as error:
            return "events", str(error)
        except LackingError as error:
            return error.lacks, str(error)
        except CaptureError as error:
            # From a check that reads files beside a trace.
            return "files", str(error)
        try:
            # Only questions whose first source is a timeline need the ledger.
            if asked.sources[0] == "Timeline":
                _ = self._whole.summary
                asked.require(self._whole)
        except CaptureError as error:
            return "ledger", str(error)
        return "", ""

    @property
    def table(self) -> "pd.DataFrame":
        """A row per question: topic, question, answers, missing, why, asked_of.

        missing: "" for nothing, or "events", "samples" (of functions), "bundle", "victim", "files"
        (files of netcost-record, or a step's table, are absent or damaged), "ledger" (the events do
        not assign CPU time to owners as the question needs), or, for a question about another kind
        of source, that kind: "recording", "experiment", "comparison" or "fleet". why: the same in a
        sentence. asked_of: one of these four kinds.
        """
        frame = listed()
        missing = [self._missing(question) for question in questions().values()]
        frame["missing"] = [what for what, _ in missing]
        frame["why"] = [why for _, why in missing]
        frame["asked_of"] = [question.asked_of for question in questions().values()]
        return frame

    def _answer(self, asked: Question[Any], options: dict[str, Any]) -> Answer:
        unknown = set(options) - set(asked.parameters)
        if unknown:
            known = ", ".join(asked.parameters) or "none"
            raise ArgumentError(
                f"{asked.name} has no parameter {', '.join(sorted(unknown))}; it has {known}"
            )
        # Refuse a wrong number first, whatever the recording lacks.
        asked.check_numbers(options)
        sources: dict[str, Any] = {self._kind: self._source}
        try:
            sources = self._sources(asked)
            answer = asked(*sources.values(), **options)
        except CaptureError as error:
            answer = refused(error)
        return about(answer, asked, self._source, sources, options)

    def _sources(self, asked: Question[Any]) -> dict[str, Any]:
        # The question's first arguments, by type and in order.
        if asked.asked_of != self._own:
            how = _HOW.get(asked.asked_of) or (
                f", and {self._source.path} is {_article(self._own)}: "
                f"{self._source.recording_to_name}"
            )
            raise LackingError(
                asked.asked_of, f"{asked.name} is a question about {_article(asked.asked_of)}{how}"
            )
        if self._kind == "Bundle" and asked.sources != ("Bundle",):
            why = f"needs a trace, and {self._source.shown} was recorded without one"
            raise LackingError("trace", f"{asked.name} {why}")
        if self._own != "recording" or self._kind == "Bundle":
            if asked.check:
                asked.check(self._source)
            return {self._kind: self._source}
        capture = self._capture
        if "Bundle" in asked.sources and capture.bundle is None:
            raise LackingError(
                "bundle",
                f"{asked.name} needs what netcost-record keeps beside a trace: this is a bare "
                "recording, and none of that was given (--victim-output, --before)",
            )
        asked.require(capture)
        given: dict[str, Callable[[], Any]] = {
            "Capture": lambda: capture,
            "Bundle": lambda: capture.bundle,
            "Timeline": lambda: self._timeline(asked),
        }
        sources = {kind: given[kind]() for kind in asked.sources}
        if asked.check:
            asked.check(sources[asked.sources[0]])
        return sources

    def _timeline(self, asked: Question[Any]) -> "Timeline":
        # A question about a bundle covers its victim's run.
        bundle = self._capture.bundle if "Bundle" in asked.sources else None
        if bundle is not None and bundle.victim and self._whole.has_victims_run:
            run = self._capture.victim_timeline()
            run.given_victim = self._whole.given_victim
            return run
        return self._whole

    def _shown(self) -> "Table":
        from ..display.tables import questions_table

        # Only questions that suit this kind of source.
        rows = self.table
        return questions_table(rows[rows["asked_of"] == self._own], TOPICS)

    def __repr__(self) -> str:
        return self._shown().text()

    def _repr_html_(self) -> str:
        return self._shown().html()


class Topic:
    """The questions of one topic, each a method that returns an Answer."""

    def __init__(self, ask: Ask, name: str) -> None:
        self._ask, self._name = ask, name

    def _questions(self) -> dict[str, Question[Any]]:
        return questions_of(self._name)

    def __getattr__(self, name: str) -> "Callable[..., Answer]":
        asked = self._questions().get(name)
        if asked is None:
            raise AttributeError(no_question(name, self._name))

        def method(**options: Any) -> Answer:
            return self._ask._answer(asked, options)

        # Let help() and editors find the code that computes the answer.
        update_wrapper(method, asked.function)
        method.__doc__ = asked.documentation
        method.__signature__ = asked.signature.replace(  # type: ignore[attr-defined]
            parameters=[
                parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
                for parameter in asked.parameters.values()
            ],
            return_annotation=Answer,
        )
        return method

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._questions()]

    def __repr__(self) -> str:
        lines = [f"{name}: {question.summary}" for name, question in self._questions().items()]
        return "\n".join([f"Questions about {TOPICS[self._name]}", *lines])


def _article(source: str) -> str:
    return f"{'an' if source == 'experiment' else 'a'} {source}"


def _named(names: "Iterable[str]") -> "Iterator[Question[Any]]":
    for name in names:
        known = questions_of(name) if name in TOPICS else questions()
        if name not in TOPICS and name not in known:
            raise ArgumentError(no_question(name))
        of = known.values() if name in TOPICS else (known[name],)
        # Others, such as those about experiments, read no rows.
        yield from (question for question in of if "Timeline" in question.sources)
