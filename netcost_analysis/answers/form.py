"""The form of a question: its parameters, words, tables and pictures."""

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..schema import column

Panel = Mapping[str, Any]
# A function of an answer.
Of = Callable[[Any], Any]

# The types of a question's first arguments: what it can be asked of.
SOURCES = ("Timeline", "Capture", "Bundle", "Experiment", "Comparison", "Fleet")
# Sources that stand alone. The others are parts of one recording.
ALONE = SOURCES[3:]
# Types of parameters that a shell can set.
_PLAIN = (int, float, str, bool, tuple, list, type(None))


@dataclass(frozen=True)
class Picture:
    """A picture of an answer.

    name: "" for plot(), NAME for plot_NAME(). draw: draw(ax, answer, **panel) draws it on Axes.
    title: describes the picture for readers who cannot see it. height: in inches, at a page's
    width. panels: the arguments of each picture on a page, such as one for each device; [{}] for a
    picture without arguments, [] if there is nothing to draw; by default [{}] if the frame has
    rows. choices: further panels to ask for. title and height may be functions of the answer and a
    panel.
    """

    name: str
    draw: Callable[..., None]
    title: str | Callable[..., str]
    height: float | Callable[..., float]
    panels: Callable[[Any], Sequence[Panel]]
    choices: Callable[[Any], Sequence[Panel]]


class Form:
    """A question's name and sources, and how its answer is shown.

    topic: the folder of its module. columns: those that a narrow table keeps, the most important
    first. shares: columns of shares whose names do not say so. main: the part that is the answer's
    frame, or None for the first table. rows: the number of rows that a page shows. pictures: by
    name.
    """

    columns: tuple[str, ...]
    shares: tuple[str, ...]
    main: str | None
    rows: int

    def __init__(self, function: Callable[..., Any], topic: str | None) -> None:
        self.function = function
        self.name = function.__name__
        self.topic = topic or function.__module__.partition(".questions.")[2].partition(".")[0]
        self.pictures: dict[str, Picture] = {}
        self.table_of: Of | None = None
        self.text_of: Of | None = None

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @cached_property
    def documentation(self) -> str:
        """The function's docstring, with the definitions of the main columns."""
        text = inspect.getdoc(self.function) or ""
        declared = [item for name in self.columns if (item := column(name))]
        if not declared:
            return text
        shown = "\n".join(f"- {item.name}: {item.definition}" for item in declared)
        # Drop links, which lead to other places in docs/columns.md.
        shown = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", shown)
        return f"{text}\n\nColumns, and more in docs/columns.md:\n\n{shown}"

    @cached_property
    def signature(self) -> inspect.Signature:
        """The function's signature."""
        return inspect.signature(self.function)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The types in SOURCES that it is asked of, in the order of its arguments."""
        empty = inspect.Parameter.empty
        return tuple(
            _type_name(parameter.annotation)
            for parameter in self.signature.parameters.values()
            if parameter.default is empty
        )

    @property
    def asked_of(self) -> str:
        """What it is asked of: "recording", "experiment", "comparison" or "fleet"."""
        return self.sources[0].lower() if self.sources[0] in ALONE else "recording"

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The other arguments by name."""
        return dict(list(self.signature.parameters.items())[len(self.sources) :])

    @property
    def options(self) -> dict[str, Any]:
        """The parameters that a shell can set, with their defaults."""
        named = self.parameters.items()
        return {name: item.default for name, item in named if isinstance(item.default, _PLAIN)}

    @property
    def template(self) -> Path:
        """The template of its words; the file may not exist."""
        return Path(str(sys.modules[self.function.__module__].__file__)).with_name(
            f"{self.name}.md"
        )

    def table(self, of: Of) -> Of:
        """Declare a function that makes the HTML table, in place of rows of the frame."""
        self.table_of = of
        return of

    def text(self, of: Of) -> Of:
        """Declare a function that makes the text table, for a column of mixed units."""
        self.text_of = of
        return of

    def plot(
        self,
        name: str = "",
        *,
        title: str | Callable[..., str],
        height: float | Callable[..., float] = 3.0,
        panels: Callable[[Any], Sequence[Panel]] = lambda answer: [{}] if len(answer.frame) else [],
        choices: Callable[[Any], Sequence[Panel]] = lambda _: (),
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Declare a picture. The arguments are the attributes of Picture."""

        def declare(draw: Callable[..., None]) -> Callable[..., None]:
            self.pictures[name] = Picture(name, draw, title, height, panels, choices)
            return draw

        return declare


def each(column: str) -> Callable[[Any], Sequence[Panel]]:
    """Panels or choices of a picture: one per value of a column of the frame."""
    return lambda answer: [{column: str(value)} for value in answer.frame[column].dropna().unique()]


def _type_name(annotation: Any) -> str:
    named = getattr(annotation, "__name__", str(annotation))
    return named.split(".")[-1].strip("'\"")
