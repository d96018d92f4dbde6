# Questions as functions of whom they are asked: `stolen(timeline, by="tid")` is what the answer of
# timeline.ask.stolen_time.stolen(by="tid") holds. None is known here but by its public name.

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from netcost_analysis.answers.registry import questions


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in questions():
        raise AttributeError(name)

    def asked(of: Any, *given: Any, **options: Any) -> Any:
        # In the order in which they are declared.
        named = dict(zip(questions()[name].parameters, given, strict=False))
        answer = of.ask(name, **named, **options)
        return answer.parts.get("", SimpleNamespace(**answer.parts))

    asked.__name__ = name
    return asked
