"""A question, declared where it is computed: what it needs, and how its answer is shown.

>>> @question(needs=("napi:napi_poll",), columns=("device", "work", "polls"))
... def poll_sizes(timeline: Timeline) -> Answer:
...     '''Packets per poll: how often each size occurred.'''

The types of its first arguments say what it is asked of; the other arguments are its parameters.
From the declaration come ``timeline.ask.batches.poll_sizes()``, ``netcost ask poll_sizes``, the
error for missing events, the table that ``capture.ask`` shows, and docs/questions.md. Its pictures,
``@poll_sizes.plot()``, stand beside it; its words are a template, ``poll_sizes.md``, that formats
the answer's parts. CONTRIBUTING.md says how to write one.
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
    """A question; calling it computes the answer's tables.

    needs: the tracepoints and facts (timeline/facts.py) without which it has no answer; any one of
    a tuple is enough. check: a quick function that raises CaptureError where files beside the trace
    are missing. seen: raises CaptureError where a timeline's events, which capture.ask does not
    read, show nothing that the question is about. inputs: the aggregates (timeline/aggregates.py)
    and the tables (timeline/reading.py) that it reads. allow_zero: integer parameters for which 0
    is valid. Its other attributes are those of Form.
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
        """Raises MissingEventsError for a capture without what the question needs.

        ArgumentError for a number, as a width or how many, that is not above 0.
        """
        options = self.signature.bind(*given, **named).arguments
        self.check_numbers(options)
        if self.needs:
            self.require(given[0])
        if self.tables or self.grouped:
            # Read everything that it and the questions it calls need in one pass. What a single
            # aggregate is may depend on the arguments.
            timeline: Any = next(one for one in given if hasattr(one, "load"))
            if len(self.grouped) > 1:
                together(timeline, self.grouped)
            if self.tables:
                preload(timeline, self.tables)
        answer = self.function(*given, **named)
        kinds = dict(zip(self.signature.parameters, self.sources, strict=False))
        sources = {kind: options.pop(name) for name, kind in kinds.items()}
        return about(answer, self, next(iter(sources.values())), sources, options)

    def check_numbers(self, given: Mapping[str, Any]) -> None:
        """Raises ArgumentError for a number, as a width or how many, that is not above 0."""
        for name, value in given.items():
            kind = str(getattr(self.parameters.get(name), "annotation", ""))
            # A task is given by number or by name.
            if value is None or "int" not in kind or "str" in kind:
                continue
            for number in value if isinstance(value, Sequence) else (value,):
                if number < 0 or (number == 0 and name not in self.allow_zero):
                    least = "0 or more" if name in self.allow_zero else "above 0"
                    raise ArgumentError(f"{self.name}: {name} has to be {least}, not {number}")

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The tracepoints that it needs, as groups of alternatives."""
        return tracepoint_groups(self.needs)

    def require(self, source: Any) -> None:
        """Raises CaptureError where a capture, or a timeline, lacks what it needs.

        A capture's headers say what was recorded; only a timeline knows what the events show.
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
        made.tables = tuple(one for one in inputs if isinstance(one, str))
        made.grouped = tuple(one for one in inputs if not isinstance(one, str))
        made.columns, made.shares, made.main, made.rows = columns, shares, main, rows
        return made

    return declare
