"""``ask`` of a capture, a timeline, an experiment, a comparison, a fleet: topics of questions."""

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

# Tables with few rows, which the first pass brings besides.
_FEW = {"coverage", "migrations"}
# It hashes the whole file and needs no timeline.
_HASHED = "provenance"
_HOW = {
    "experiment": ": netcost.open_experiment(FOLDER).ask",
    "comparison": ": netcost.compare(BASE, NEW).ask",
    "fleet": ": netcost.open_fleet(DIR).ask",
}


class Ask:
    """The questions about what was opened: ``ask.TOPIC.QUESTION()`` is an Answer.

    ``ask`` itself shows the table of questions, with what is missing for those that this capture
    cannot answer; ``ask.table`` is that as a DataFrame. ``ask("QUESTION")`` answers one by name.

    Parameters
    ----------
    source : Capture, Timeline, Experiment, Comparison or Fleet
        What is asked; the Bundle of a recording without a trace.
    """

    def __init__(self, source: Any) -> None:
        self._source = source
        kinds = (one.__name__ for one in type(source).__mro__)
        self._kind = next(name for name in kinds if name in SOURCES)

    @property
    def _capture(self) -> "Capture":
        """The capture that is asked, or whose timeline is."""
        capture: Capture = self._source if self._kind == "Capture" else self._source.capture
        return capture

    @cached_property
    def _whole(self) -> "Timeline":
        """The timeline that is asked; all of a capture, kept so that its tables are made once."""
        timeline: Timeline = self._source if self._kind == "Timeline" else self._source.whole
        return timeline

    @property
    def _own(self) -> str:
        """What its questions are asked of, as Question.asked_of."""
        return self._kind.lower() if self._kind in ALONE else "recording"

    def __call__(self, name: str, **options: Any) -> Answer:
        """The answer to the question of that name, whatever its topic.

        Parameters
        ----------
        name : str
            Of the question.
        **options : object
            Its parameters.

        Returns
        -------
        Answer
            What it found, or why there is nothing.

        Raises
        ------
        ArgumentError
            For a name or an argument that there is not.
        """
        asked = questions().get(name)
        if asked is None:
            raise ArgumentError(no_question(name))
        return self._answer(asked, options)

    def prepare(self, *names: str) -> None:
        """Read a large recording once for several questions.

        The answers are the same. Without it each question reads the recording by itself.

        Parameters
        ----------
        *names : str
            Topics, and questions. With "provenance" the file is hashed meanwhile, on another core.

        Raises
        ------
        ArgumentError
            For a name that there is not.
        """
        timeline, asked = self._whole, list(_named(names))
        try:
            tables = {table for one in asked for table in one.tables}
            timeline.load("displaced", *sorted(tables & _FEW), allow_large=True)
            if _HASHED in names and not fits(timeline):
                begin(timeline.capture)
            together(timeline, [one for each in asked for one in each.grouped])
        except CaptureError:
            # Each of them says why.
            return

    def __getattr__(self, name: str) -> "Topic":
        if name not in TOPICS:
            raise AttributeError(f"no topic {name!r}; there are {', '.join(TOPICS)}")
        return Topic(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *TOPICS]

    def _missing(self, asked: Question[Any]) -> tuple[str, str]:
        # What is missing for an answer, and why in a sentence; "" where nothing is.
        try:
            self._sources(asked)
        except MissingEventsError as error:
            return "events", str(error)
        except LackingError as error:
            return error.lacks, str(error)
        except CaptureError as error:
            # A check that reads what was kept beside a trace.
            return "files", str(error)
        try:
            # Questions that are first asked of something else do without the CPUs' time.
            if asked.sources[0] == "Timeline":
                _ = self._whole.summary
                asked.require(self._whole)
        except CaptureError as error:
            return "ledger", str(error)
        return "", ""

    @property
    def table(self) -> "pd.DataFrame":
        """A row per question: topic, question, answers, missing, why, asked_of.

        missing: "" for nothing, else "events", "samples" (none of functions were taken), "bundle",
        "victim", "files" (what netcost-record
        keeps, or a step's table, is not there or damaged), "ledger" (the events do not tell the
        CPUs' time apart, or not as this needs it), "recording", "experiment", "comparison" or
        "fleet" (it is asked of one, and this is none). why: the same in a sentence. asked_of: one
        of these four.
        """
        frame = listed()
        found = [self._missing(one) for one in questions().values()]
        frame["missing"] = [what for what, _ in found]
        frame["why"] = [why for _, why in found]
        frame["asked_of"] = [one.asked_of for one in questions().values()]
        return frame

    def _answer(self, asked: Question[Any], options: dict[str, Any]) -> Answer:
        unknown = set(options) - set(asked.parameters)
        if unknown:
            known = ", ".join(asked.parameters) or "none"
            raise ArgumentError(
                f"{asked.name} has no parameter {', '.join(sorted(unknown))}; it has {known}"
            )
        # A wrong number is refused whatever the recording lacks.
        asked.check_numbers(options)
        sources: dict[str, Any] = {self._kind: self._source}
        try:
            sources = self._sources(asked)
            answer = asked(*sources.values(), **options)
        except CaptureError as error:
            answer = refused(error)
        return about(answer, asked, self._source, sources, options)

    def _sources(self, asked: Question[Any]) -> dict[str, Any]:
        # The arguments that the question is asked of, by type and in order.
        if asked.asked_of != self._own:
            how = _HOW.get(asked.asked_of) or (
                f", and {self._source.path} is {_article(self._own)}: "
                f"{self._source.recording_to_name}"
            )
            raise LackingError(
                asked.asked_of, f"{asked.name} is asked of {_article(asked.asked_of)}{how}"
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
                "recording, and nothing of that was given beside it (--victim-output, --before)",
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
        # A question about a bundle is about its victim's run.
        bundle = self._capture.bundle if "Bundle" in asked.sources else None
        if bundle is not None and bundle.victim and self._whole.has_victims_run:
            run = self._capture.victim_timeline()
            run.given_victim = self._whole.given_victim
            return run
        return self._whole

    def _shown(self) -> "Table":
        from ..display.tables import questions_table

        # Only questions that this kind of source can be asked.
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

    def _own(self) -> dict[str, Question[Any]]:
        return questions_of(self._name)

    def __getattr__(self, name: str) -> "Callable[..., Answer]":
        asked = self._own().get(name)
        if asked is None:
            raise AttributeError(no_question(name, self._name))

        def method(**options: Any) -> Answer:
            return self._ask._answer(asked, options)

        # So that help and an editor find the code that computes it.
        update_wrapper(method, asked.function)
        method.__doc__ = asked.documentation
        method.__signature__ = asked.signature.replace(  # type: ignore[attr-defined]
            parameters=[
                one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
                for one in asked.parameters.values()
            ],
            return_annotation=Answer,
        )
        return method

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._own()]

    def __repr__(self) -> str:
        lines = [f"{name}: {one.summary}" for name, one in self._own().items()]
        return "\n".join([f"Questions about {TOPICS[self._name]}", *lines])


def _article(source: str) -> str:
    return f"{'an' if source == 'experiment' else 'a'} {source}"


def _named(names: "Iterable[str]") -> "Iterator[Question[Any]]":
    for name in names:
        known = questions_of(name) if name in TOPICS else questions()
        if name not in TOPICS and name not in known:
            raise ArgumentError(no_question(name))
        of = known.values() if name in TOPICS else (known[name],)
        # Questions about experiments, for one, read no rows.
        yield from (one for one in of if "Timeline" in one.sources)
