"""A question, declared where it is computed: what it needs, and how its answer is shown.

>>> @question(needs=("napi:napi_poll",), main_columns=("device", "work", "polls"))
... def poll_sizes(timeline: Timeline) -> pd.DataFrame:
...     '''Packets per poll: how often each size occurred.'''

What it is asked of is its first arguments, by their types; its parameters are the others. From the
declaration come ``timeline.ask.batches.poll_sizes()``, ``netcost ask poll_sizes``, the error for
missing events, the table that ``capture.ask`` shows, and docs/questions.md. Beside it stand, in the
same file, ``@poll_sizes.totals`` (what is computed of all its rows), ``@poll_sizes.figures`` (what
of it its words say: it picks, and computes nothing), ``@poll_sizes.plot()`` (its pictures), and, in
a file of its name ending ``.md``, the words: a template that formats the figures.
"""

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from .._native import CaptureError
from ..capture.requires import Group, Need, require
from ..errors import ArgumentError
from ..timeline.facts import FACTS, groups
from .groups import Aggregate, together
from .inputs import preload

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline
    from .answer import Answer

Given = ParamSpec("Given")
Result = TypeVar("Result")
Panel = Mapping[str, Any]

# What a question can be asked of, by the types of its first arguments.
SOURCES = ("Timeline", "Capture", "Bundle", "Experiment", "Comparison", "Fleet")
# Those that are asked alone; all others are parts of one recording.
_ALONE: dict[tuple[str, ...], str] = {
    ("Experiment",): "experiment",
    ("Comparison",): "comparison",
    ("Fleet",): "fleet",
}
# Types of parameters that a shell can set.
_PLAIN = (int, float, str, bool, tuple, list, type(None))


@dataclass(frozen=True)
class Picture:
    """A picture of an answer.

    name: "" for plot(), else of plot_NAME(). draw: draws it on Axes: draw(ax, answer, **panel).
    title: what it shows, for readers who do not see it. height: inches, of a page's width. panels:
    the arguments of each picture to show: one without any, none where there is nothing to draw, or
    several as one for each device. choices: those that may be asked for besides, as further
    devices. title and height may be functions of the answer and a panel.
    """

    name: str
    draw: Callable[..., None]
    title: "str | Callable[..., str]"
    height: "float | Callable[..., float]"
    panels: "Callable[[Answer[Any]], Sequence[Panel]]"
    choices: "Callable[[Answer[Any]], Sequence[Panel]]"


class Question(Generic[Given, Result]):
    """A question; calling it computes the answer's tables.

    name; topic: the folder of its module; function; needs: the tracepoints and facts
    (timeline/facts.py) without which it has no answer, within a tuple any of them; check: raises
    CaptureError where its first argument lacks what only its files show, and is quick; seen: raises
    CaptureError where a timeline's events, which capture.ask does not read, show nothing that it is
    about; inputs: the groups of rows (groups.py), and the tables whose rows it reads (inputs.py);
    main_columns: those that a narrow
    table keeps, the most important first; shares: columns that are shares and not called so; main:
    the name of the part that is an answer's frame, None for its first table; rows: how many of the
    frame a page shows; may_be_0: of its integer parameters those that 0 is no mistake of; pictures,
    by name.
    """

    def __init__(
        self,
        function: Callable[Given, Result],
        *,
        topic: str | None,
        needs: tuple[Need, ...],
        check: Callable[[Any], object] | None,
        seen: "Callable[[Timeline], object] | None",
        inputs: tuple[str | Aggregate[Any], ...],
        main_columns: tuple[str, ...],
        shares: tuple[str, ...],
        main: str | None,
        rows: int,
        may_be_0: tuple[str, ...],
    ) -> None:
        update_wrapper(self, function)
        self.function = function
        self.name = function.__name__
        self.topic = topic or function.__module__.partition(".questions.")[2].partition(".")[0]
        self.needs, self.check, self.seen = needs, check, seen
        self.tables = tuple(one for one in inputs if isinstance(one, str))
        self.grouped = tuple(one for one in inputs if not isinstance(one, str))
        self.main_columns, self.shares = main_columns, shares
        self.main, self.rows, self.may_be_0 = main, rows, may_be_0
        self.pictures: dict[str, Picture] = {}
        self.totals_of: Callable[[Answer[Any]], Any] | None = None
        self.figures_of: Callable[[Answer[Any]], Any] | None = None
        self.table_of: Callable[[Answer[Any]], str] | None = None
        self.text_of: Callable[[Answer[Any]], str] | None = None

    def __call__(self, *given: Given.args, **named: Given.kwargs) -> Result:
        """Raises MissingEventsError for a capture without what the question needs.

        ArgumentError for a number, as a width or how many, that is not above 0.
        """
        self.check_numbers(self.signature.bind(*given, **named).arguments)
        if self.needs:
            self.require(given[0])
        if self.tables or self.grouped:
            # All that it and what it builds on read, in one pass each. A single aggregate may be
            # another, by what was given.
            timeline: Any = next(one for one in given if hasattr(one, "load"))
            if len(self.grouped) > 1:
                together(timeline, self.grouped)
            if self.tables:
                preload(timeline, self.tables)
        return self.function(*given, **named)

    def check_numbers(self, given: Mapping[str, Any]) -> None:
        """Raises ArgumentError for a number, as a width or how many, that is not above 0."""
        for name, value in given.items():
            kind = str(getattr(self.parameters.get(name), "annotation", ""))
            # A task is one by number, or by name.
            if value is None or "int" not in kind or "str" in kind:
                continue
            for number in value if isinstance(value, Sequence) else (value,):
                if number < 0 or (number == 0 and name not in self.may_be_0):
                    least = "0 or more" if name in self.may_be_0 else "above 0"
                    raise ArgumentError(f"{self.name}: {name} has to be {least}, not {number}")

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The tracepoints that its needs come to: of each group one alternative."""
        return groups(self.needs)

    def require(self, source: Any) -> None:
        """Raises CaptureError where a capture, or a timeline, lacks what it needs.

        Of a capture the headers tell; a timeline knows also what only the events show.
        """
        require(source, self.name, *self.groups)
        for fact in self.needs:
            why = fact in FACTS and getattr(source, "missing", {}).get(fact)
            if why:
                raise CaptureError(f"{self.name}: {why}")

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @cached_property
    def documentation(self) -> str:
        """Its documentation as one who asks needs it: without what it is asked of."""
        text = inspect.getdoc(self.function) or ""
        given = "|".join(list(self.signature.parameters)[: len(self.sources)])
        text = re.sub(rf"^(?:{given}) : .*\n(?:    .*\n?)*", "", text, flags=re.MULTILINE)
        return text.replace("Parameters\n----------\n\n", "")

    @cached_property
    def signature(self) -> inspect.Signature:
        """That of the function."""
        return inspect.signature(self.function)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """What it is asked of, in the order of its arguments: of SOURCES."""
        empty = inspect.Parameter.empty
        return tuple(
            _type_name(one.annotation)
            for one in self.signature.parameters.values()
            if one.default is empty
        )

    @property
    def asked_of(self) -> str:
        """Whom it is asked: "recording", "experiment", "comparison" or "fleet"."""
        return _ALONE.get(self.sources, "recording")

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Its other arguments, by name."""
        own = list(self.signature.parameters.items())[len(self.sources) :]
        return dict(own)

    @property
    def options(self) -> dict[str, Any]:
        """Those that a shell can set, with what they are unless given."""
        named = self.parameters.items()
        return {name: one.default for name, one in named if isinstance(one.default, _PLAIN)}

    @property
    def template(self) -> Path:
        """Where its words are, if it has any."""
        return Path(str(sys.modules[self.function.__module__].__file__)).with_name(
            f"{self.name}.md"
        )

    def totals(self, of: "Callable[[Answer[Result]], Any]") -> "Callable[[Answer[Result]], Any]":
        """Declare what computes further parts of an answer, of its tables: named as by a dict."""
        self.totals_of = of
        return of

    def figures(self, of: "Callable[[Answer[Result]], Any]") -> "Callable[[Answer[Result]], Any]":
        """Declare what picks the figures of the words: a dataclass, named tuple or dict."""
        self.figures_of = of
        return of

    def table(self, of: "Callable[[Answer[Result]], str]") -> "Callable[[Answer[Result]], str]":
        """Declare what shows its table as HTML, where rows of the frame are not what to show."""
        self.table_of = of
        return of

    def text(self, of: "Callable[[Answer[Result]], str]") -> "Callable[[Answer[Result]], str]":
        """Declare what shows its table as text, where a column has figures of several units."""
        self.text_of = of
        return of

    def plot(
        self,
        name: str = "",
        *,
        title: "str | Callable[..., str]",
        height: "float | Callable[..., float]" = 3.0,
        panels: "Callable[[Answer[Result]], Sequence[Panel]]" = lambda _: ({},),
        choices: "Callable[[Answer[Result]], Sequence[Panel]]" = lambda _: (),
    ) -> "Callable[[Callable[..., None]], Callable[..., None]]":
        """Declare a picture; its parts are those of Picture."""

        def declare(draw: "Callable[..., None]") -> "Callable[..., None]":
            self.pictures[name] = Picture(name, draw, title, height, panels, choices)
            return draw

        return declare


def each(column: str) -> "Callable[[Answer[Any]], Sequence[Panel]]":
    """Panels, or choices, of a picture: one for each value of a column of the answer's frame."""
    return lambda answer: [{column: str(one)} for one in answer.frame[column].dropna().unique()]


def question(
    *,
    topic: str | None = None,
    needs: tuple[Need, ...] = (),
    check: Callable[[Any], object] | None = None,
    seen: "Callable[[Timeline], object] | None" = None,
    inputs: tuple[str | Aggregate[Any], ...] = (),
    main_columns: tuple[str, ...] = (),
    shares: tuple[str, ...] = (),
    main: str | None = None,
    rows: int = 8,
    may_be_0: tuple[str, ...] = (),
) -> Callable[[Callable[Given, Result]], Question[Given, Result]]:
    """Declare a function as a question. The arguments are the attributes of Question."""

    def declare(function: Callable[Given, Result]) -> Question[Given, Result]:
        return Question(
            function,
            topic=topic,
            needs=needs,
            check=check,
            seen=seen,
            inputs=inputs,
            main_columns=main_columns,
            shares=shares,
            main=main,
            rows=rows,
            may_be_0=may_be_0,
        )

    return declare


def _type_name(annotation: Any) -> str:
    named = getattr(annotation, "__name__", str(annotation))
    return named.split(".")[-1].strip("'\"")
