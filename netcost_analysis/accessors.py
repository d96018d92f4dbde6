"""Methods and attributes that higher layers add to captures, bundles, timelines and answers.

They work like pandas' accessors. No other file in these layers names a higher one, and each module
is imported on first use. Types for editors and mypy are in accessors.pyi.
"""

from importlib import import_module
from types import MethodType
from typing import Any


def load(home: str) -> Any:
    """Import "MODULE", or NAME from it for "MODULE:NAME"."""
    path, _, name = home.partition(":")
    module = import_module(f"{__package__}.{path}")
    return getattr(module, name) if name else module


class _Method:
    # Binds a function of another module as a method.

    def __init__(self, home: str) -> None:
        self.home = home

    def __get__(self, instance: Any, owner: type) -> Any:
        function = load(self.home)
        return function if instance is None else MethodType(function, instance)


class _Kept:
    # A cached property: the result of calling a function or class with the object.

    def __init__(self, home: str) -> None:
        self.home = home

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        text: str | None = load(self.home).__doc__
        return text

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = load(self.home)(instance)
        return value


class OfBundle:
    work_rates = _Kept("snapshots.service:work_rates")
    program_work = _Kept("snapshots.service:program_work")


class OfCapture:
    timeline = _Method("timeline.of_capture:timeline")
    victim_timeline = _Method("timeline.of_capture:victim_timeline")
    whole = _Kept("timeline.of_capture:timeline")
    ask = _Kept("answers.ask:Ask")


class OfTimeline:
    victim = _Kept("questions.victim:victim")
    ask = _Kept("answers.ask:Ask")
    lives = _Kept("timeline.lives:lives")
    lower_ends = _Kept("questions.completeness.unrecorded:lower_ends_of")
    to_parquet = _Method("export.dataset:to_parquet")
    to_perfetto = _Method("export.perfetto:to_perfetto")
    view = _Method("view.jupyter:view")


class OfExperiment:
    ask = _Kept("answers.ask:Ask")


class OfComparison:
    ask = _Kept("answers.ask:Ask")


class OfFleet:
    ask = _Kept("answers.ask:Ask")


class OfAnswer:
    coverage = _Kept("questions.completeness.recording:of_answer")
    view = _Method("view.jupyter:view_row")
