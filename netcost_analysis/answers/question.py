"""A question is declared where it is computed: what it needs, and how its answer is shown.

>>> @question(needs=("napi:napi_poll",), columns=("device", "work", "polls"))
... def poll_sizes(timeline: Timeline) -> Answer:
...     '''Packets per poll: how often each size occurred.'''

The types of its first arguments say what it is asked of. The other arguments are its parameters.
From the declaration come ``timeline.ask.batches.poll_sizes()``, ``netcost ask poll_sizes``, the
error for missing events, the table that ``capture.ask`` shows, and docs/questions.md. Pictures,
``@poll_sizes.plot()``, are declared beside it. Its words are a template, ``poll_sizes.md``, that
formats the answer's parts. CONTRIBUTING.md says how to write one.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Any, Generic, ParamSpec

from .._native import CaptureError
from ..capture.requires import Group, Need, require
from ..errors import ArgumentError
from ..timeline.aggregates import Aggregate, together
from ..timeline.facts import FACTS, tracepoint_groups
from ..timeline.reading import preload
from .answer import Answer as Answer
from .answer import about
from .form import Form

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes

    from ..timeline.timeline import Timeline
else:
    # Of annotations: matplotlib is imported where something is drawn.
    Axes = Any

Given = ParamSpec("Given")


class Question(Form, Generic[Given]):
    """A question. Calling it computes the answer's tables.

    needs: the tracepoints and facts (timeline/facts.py) that it cannot do without; any one of a
    tuple is enough. check: a quick function that raises CaptureError if files beside the trace are
    missing. seen: raises CaptureError if the timeline's events, which capture.ask does not read,
    show nothing that the question is about. inputs: the aggregates (timeline/aggregates.py) and
    tables (timeline/reading.py) that it reads. allow_zero: integer parameters that may be 0. The
    other attributes are those of Form.
    """

    needs: tuple[Need, ...]
    check: Callable[[Any], object] | None
    seen: "Callable[[Timeline], object] | None"
    tables: tuple[str, ...]
    grouped: tuple[Aggregate[Any], ...]
    allow_zero: tuple[str, ...]

    def __init__(self, function: Callable[Given, Answer], topic: str | None) -> None:
        update_wrapper(self, function)
        Form.__init__(self, function, topic)

    def __call__(self, *given: Given.args, **named: Given.kwargs) -> Answer:
        """Answer the question.

        Raises MissingEventsError if the capture lacks what the question needs, and ArgumentError
        for a number, such as a width or count, that is not above 0.
        """
        options = self.signature.bind(*given, **named).arguments
        self.check_numbers(options)
        if self.needs:
            self.require(given[0])
        if self.tables or self.grouped:
            # Read in one pass everything that this question and those it calls need. A single
            # aggregate is left to the function, as it may depend on the arguments.
            timeline: Any = next(argument for argument in given if hasattr(argument, "load"))
            if len(self.grouped) > 1:
                together(timeline, self.grouped)
            if self.tables:
                preload(timeline, self.tables)
        answer = self.function(*given, **named)
        kinds = dict(zip(self.signature.parameters, self.sources, strict=False))
        sources = {kind: options.pop(name) for name, kind in kinds.items()}
        return about(answer, self, next(iter(sources.values())), sources, options)

    def check_numbers(self, given: Mapping[str, Any]) -> None:
        """Raise ArgumentError for a number, such as a width or count, that is not above 0."""
        for name, value in given.items():
            kind = str(getattr(self.parameters.get(name), "annotation", ""))
            # Parameters that take int or str are tasks.
            if value is None or "int" not in kind or "str" in kind:
                continue
            for number in value if isinstance(value, Sequence) else (value,):
                if number < 0 or (number == 0 and name not in self.allow_zero):
                    least = "0 or more" if name in self.allow_zero else "above 0"
                    raise ArgumentError(f"{self.name}: {name} must be {least}, not {number}")

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The needed tracepoints, as groups of alternatives."""
        return tracepoint_groups(self.needs)

    def require(self, source: Any) -> None:
        """Raise CaptureError if a capture or a timeline lacks what the question needs.

        A capture's headers say what was recorded. Only a timeline knows what the events show.
        """
        require(source, self.name, *self.groups)
        for fact in self.needs:
            why = fact in FACTS and getattr(source, "missing", {}).get(fact)
            if why:
                raise CaptureError(f"{self.name}: {why}")


def question(
    *,
    topic: str | None = None,
    needs: tuple[Need, ...] = (),
    check: Callable[[Any], object] | None = None,
    seen: "Callable[[Timeline], object] | None" = None,
    inputs: tuple[str | Aggregate[Any], ...] = (),
    columns: tuple[str, ...] = (),
    shares: tuple[str, ...] = (),
    main: str | None = None,
    rows: int = 8,
    allow_zero: tuple[str, ...] = (),
) -> Callable[[Callable[Given, Answer]], Question[Given]]:
    """Declare a function as a question. The arguments are the attributes of Question."""

    def declare(function: Callable[Given, Answer]) -> Question[Given]:
        made = Question(function, topic)
        made.needs, made.check, made.seen, made.allow_zero = needs, check, seen, allow_zero
        made.tables = tuple(item for item in inputs if isinstance(item, str))
        made.grouped = tuple(item for item in inputs if not isinstance(item, str))
        made.columns, made.shares, made.main, made.rows = columns, shares, main, rows
        return made

    return declare
