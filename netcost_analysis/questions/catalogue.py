"""The questions that a recording can be asked, by name, for `netcost ask` and for the tests.

A question is a public function whose first argument is a Timeline, a Capture, a Bundle or a Series,
and which needs no other.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import netcost_analysis as netcost

from .._native import CaptureError
from ..capture.experiment import is_series, open_series

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..timeline.timeline import Timeline

_SOURCES = ("Timeline", "Capture", "Bundle", "Series")
# The modules of questions, in reading order, and what they are about.
TOPICS = {
    "missed": "completeness",
    "covering": "completeness",
    "losses": "stolen time",
    "matrix": "stolen time",
    "stolen_time": "stolen time",
    "batches": "softirqs and batches",
    "processes": "processes",
    "migration": "migrations",
    "devices": "devices",
    "doctor": "accounting",
    "victim": "accounting",
    "looking": "cost of looking",
}
# Of the parameters of a question, what --with may set.
_PLAIN = (int, float, str, bool, tuple, list, type(None))


@dataclass(frozen=True)
class Question:
    """One question.

    name; topic; function; sources: what it is asked of, in the order of its arguments; summary: the
    first line of its documentation; needs: the tracepoints without which it has no answer;
    main_columns: those that a narrow table keeps, the most important first; shares: columns that
    are shares and not called so; options: the names of its other parameters, with what they are
    unless given; kinds: their types.
    """

    name: str
    topic: str
    function: Callable[..., Any]
    sources: tuple[str, ...]
    summary: str
    needs: tuple[str, ...]
    main_columns: tuple[str, ...]
    shares: tuple[str, ...]
    options: dict[str, Any]
    kinds: dict[str, str]


def questions() -> dict[str, Question]:
    """Every question, by name, in reading order: by topic, then by name."""
    found = [one for name in dir(netcost) if (one := _question(name)) is not None]
    order = [*dict.fromkeys(TOPICS.values()), "other"]
    found.sort(key=lambda one: (order.index(one.topic), one.name))
    return {one.name: one for one in found}


def _question(name: str) -> Question | None:
    function = getattr(netcost, name)
    if inspect.isclass(function) or not callable(function):
        return None
    parameters = list(inspect.signature(function).parameters.values())
    sources = [
        _kind(one)
        for one in parameters
        if one.default is inspect.Parameter.empty and not _many(one)
    ]
    if not sources or not set(sources) <= set(_SOURCES):
        return None
    return Question(
        name=name,
        topic=TOPICS.get(function.__module__.split(".")[1], "other"),
        function=function,
        sources=tuple(sources),
        summary=(inspect.getdoc(function) or "").partition("\n")[0],
        needs=getattr(function, "needs", ()),
        main_columns=getattr(function, "main_columns", ()),
        shares=getattr(function, "shares", ()),
        kinds={one.name: str(one.annotation) for one in parameters},
        options={one.name: one.default for one in parameters if isinstance(one.default, _PLAIN)},
    )


def _kind(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    return getattr(annotation, "__name__", str(annotation)).split(".")[-1].strip("'\"")


def _many(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def ask(
    question: Question,
    path: str,
    timeline_of: "Callable[[Capture], Timeline] | None" = None,
    opened: "Callable[[str], Capture]" = netcost.open_capture,
    **options: Any,
) -> Any:
    """The answer to a question about what is at path: a recording, a bundle, a series.

    timeline_of: makes the Timeline where not all of the capture is meant. opened: opens a path.
    options: the question's own. Raises CaptureError where it is no question about such a thing.
    """
    if question.sources == ("Series",):
        return question.function(open_series(path), **options)
    if is_series(path):
        series = open_series(path)
        first = next(filter(series.has, series.recordings), None)
        if first is None:
            named = "none of its steps has one"
        elif Path(path).is_file():
            named = "unpack it with tar -xf, and name one of its steps"
        else:
            named = f"name one of its steps, as {series.recording(first)}"
        raise CaptureError(
            f"{path} is a series, and {question.name} is asked of a recording: {named}"
        )
    capture = opened(path)
    if "Bundle" in question.sources and capture.bundle is None:
        raise CaptureError(
            f"{question.name} needs what netcost-record keeps beside a trace: this is a bare "
            "recording"
        )
    given: dict[str, Callable[[], Any]] = {
        "Capture": lambda: capture,
        "Timeline": lambda: _timeline(question, capture, timeline_of),
        "Bundle": lambda: capture.bundle,
    }
    if set(question.sources) - set(given):
        raise CaptureError(f"{question.name} cannot be asked of a single path")
    return question.function(*(given[kind]() for kind in question.sources), **options)


def _timeline(
    question: Question,
    capture: "Capture",
    timeline_of: "Callable[[Capture], Timeline] | None",
) -> "Timeline":
    if timeline_of:
        return timeline_of(capture)
    # What is asked of a bundle as well is asked of its victim's run.
    of_victim = "Bundle" in question.sources and capture.bundle and capture.bundle.victim
    return capture.victim_timeline() if of_victim else capture.timeline()


def parts(answer: Any) -> dict[str, Any]:
    """An answer by its parts' names: those of a dataclass or named tuple, else itself under ""."""
    if is_dataclass(answer) and not isinstance(answer, type):
        # One whose tables are made on first use names them.
        names = getattr(answer, "parts", None) or [field.name for field in fields(answer)]
        return {name: getattr(answer, name) for name in names}
    if hasattr(answer, "_asdict"):
        named: dict[str, Any] = answer._asdict()
        return named
    return {"": answer}
