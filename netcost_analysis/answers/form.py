"""How a question is asked and shown: its parameters, words and pictures."""

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

# What a question can be asked of, by the types of its first arguments.
SOURCES = ("Timeline", "Capture", "Bundle", "Experiment", "Comparison", "Fleet")
# Sources that stand alone; all others are parts of one recording.
ALONE = SOURCES[3:]
# Types of parameters that a shell can set.
_PLAIN = (int, float, str, bool, tuple, list, type(None))


@dataclass(frozen=True)
class Picture:
    """A picture of an answer.

    name: "" for plot(), else of plot_NAME(). draw: draws it on Axes: draw(ax, answer, **panel).
    title: what it shows, for readers who do not see it. height: inches at a page's width. panels:
    the arguments of each picture that a page shows: a single {} without arguments, none where there
    is nothing to draw, or one for each device, say. By default it is {} where the frame has rows.
    choices: further ones that may be asked for. title and height may be functions of the answer and
    a panel.
    """

    name: str
    draw: Callable[..., None]
    title: str | Callable[..., str]
    height: float | Callable[..., float]
    panels: Callable[[Any], Sequence[Panel]]
    choices: Callable[[Any], Sequence[Panel]]


class Form:
    """What a question is called, what it is asked of and how its answer is shown.

    topic: the folder of its module. columns: those that a narrow table keeps, the most important
    first. shares: columns that are shares without saying so in their name. main: the part that is
    the answer's frame, None for its first table. rows: how many rows of the frame a page shows.
    pictures: by name.
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
        """The first line of its documentation."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @cached_property
    def documentation(self) -> str:
        """Its documentation, with the definitions of the columns that its table shows first."""
        text = inspect.getdoc(self.function) or ""
        declared = [one for name in self.columns if (one := column(name))]
        if not declared:
            return text
        shown = "\n".join(f"- {one.name}: {one.definition}" for one in declared)
        # Links lead to other places of docs/columns.md.
        shown = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", shown)
        return f"{text}\n\nColumns, and more in docs/columns.md:\n\n{shown}"

    @cached_property
    def signature(self) -> inspect.Signature:
        """The function's signature."""
        return inspect.signature(self.function)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The types that it is asked of (SOURCES), in the order of its arguments."""
        empty = inspect.Parameter.empty
        return tuple(
            _type_name(one.annotation)
            for one in self.signature.parameters.values()
            if one.default is empty
        )

    @property
    def asked_of(self) -> str:
        """What it is asked of: "recording", "experiment", "comparison" or "fleet"."""
        return self.sources[0].lower() if self.sources[0] in ALONE else "recording"

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Its other arguments by name."""
        own = list(self.signature.parameters.items())[len(self.sources) :]
        return dict(own)

    @property
    def options(self) -> dict[str, Any]:
        """The parameters that a shell can set, with their defaults."""
        named = self.parameters.items()
        return {name: one.default for name, one in named if isinstance(one.default, _PLAIN)}

    @property
    def template(self) -> Path:
        """The file with its words, if it has any."""
        return Path(str(sys.modules[self.function.__module__].__file__)).with_name(
            f"{self.name}.md"
        )

    def table(self, of: Of) -> Of:
        """Declare a function that shows its table as HTML instead of rows of the frame."""
        self.table_of = of
        return of

    def text(self, of: Of) -> Of:
        """Declare a function that shows its table as text, for a column of several units."""
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
        """Declare a picture; the arguments are the attributes of Picture."""

        def declare(draw: Callable[..., None]) -> Callable[..., None]:
            self.pictures[name] = Picture(name, draw, title, height, panels, choices)
            return draw

        return declare


def each(column: str) -> Callable[[Any], Sequence[Panel]]:
    """Panels or choices of a picture: one for each value of a column of the frame."""
    return lambda answer: [{column: str(one)} for one in answer.frame[column].dropna().unique()]


def _type_name(annotation: Any) -> str:
    named = getattr(annotation, "__name__", str(annotation))
    return named.split(".")[-1].strip("'\"")
