# Questions as functions of whom they are asked: `stolen(timeline, by="tid")` is what the answer of
# timeline.ask.stolen_time.stolen(by="tid") holds. None is known here but by its public name.

from collections.abc import Callable
from typing import Any

from netcost_analysis.questions.ask import questions


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in questions():
        raise AttributeError(name)

    def asked(of: Any, *given: Any, **options: Any) -> Any:
        # In the order in which they are declared.
        named = dict(zip(questions()[name].parameters, given, strict=False))
        return of.ask(name, **named, **options).result

    asked.__name__ = name
    return asked
