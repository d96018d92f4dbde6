# The options of `netcost ask QUESTION`, from the parameters that the question declares.

from collections.abc import Sequence
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

import click

from ..timeline.task import ALL
from .options import COUNT, Amount

if TYPE_CHECKING:
    from inspect import Parameter

    from ..answers.question import Question

    Type = click.ParamType[Any]
else:
    # In older releases of click, ParamType is not generic.
    Type = click.ParamType


class _Task(Type):
    # Digits are always a tid, whatever tasks the capture has.
    name = "comm|tid"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = str(value)
        if text == str(ALL):
            return ALL
        return COUNT.convert(value, param, ctx) if text.isascii() and text.isdigit() else value


TASK = _Task()


class _Path(Type):
    name = "experiment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ..opening.experiment import open_experiment

        return open_experiment(value)


class _Many(Type):
    # A list such as "1,2,4".

    def __init__(self, of: Type) -> None:
        self.of, self.name = of, f"{of.name},..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return tuple(self.of.convert(word, param, ctx) for word in str(value).split(","))


_TYPES: dict[type, Type] = {int: COUNT, float: Amount(), bool: click.BOOL, str: click.STRING}


def options(question: "Question[Any]") -> list[click.Option]:
    """An option for each parameter that a shell can set; None unless given."""
    return [
        _option(param) for name, param in question.parameters.items() if name in question.options
    ]


def _option(param: "Parameter") -> click.Option:
    name, kind = f"--{param.name.replace('_', '-')}", _type(param.annotation)
    default = (
        ",".join(map(str, param.default)) if isinstance(param.default, tuple) else param.default
    )
    help_text = "" if default in (None, "") else f"Default: {default}."
    if kind is click.BOOL:
        return click.Option([f"{name}/--no-{name[2:]}"], default=None, help=help_text)
    return click.Option([name], type=kind, help=help_text)


def _type(annotation: Any) -> Type:
    # Importing the class takes longer than most questions need: some name it as a text.
    if isinstance(annotation, str):
        return _Path()
    kinds = {annotation}
    if get_origin(annotation) in (Union, UnionType):
        kinds = set(get_args(annotation)) - {NoneType}
    if kinds == {int, str}:
        return TASK
    [kind] = kinds
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if get_origin(kind) in (tuple, Sequence):
        return _Many(_type(get_args(kind)[0]))
    return _Path() if kind.__name__ == "Experiment" else _TYPES[kind]
