# The options that `netcost ask QUESTION` has: the parameters of the question's declaration.

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
    # Older ones of click's take no type of their own.
    Type = click.ParamType


class _Task(Type):
    # Digits are always a tid, so that the meaning does not depend on the capture.
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
    # "1,2,4".

    def __init__(self, of: Type) -> None:
        self.of, self.name = of, f"{of.name},..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return tuple(self.of.convert(one, param, ctx) for one in str(value).split(","))


_TYPES: dict[type, Type] = {int: COUNT, float: Amount(), bool: click.BOOL, str: click.STRING}


def options(question: "Question[Any]") -> list[click.Option]:
    """An option for each parameter that a shell can set; None unless given."""
    return [_option(one) for name, one in question.parameters.items() if name in question.options]


def _option(one: "Parameter") -> click.Option:
    name, kind = f"--{one.name.replace('_', '-')}", _type(one.annotation)
    default = ",".join(map(str, one.default)) if isinstance(one.default, tuple) else one.default
    help_text = "" if default in (None, "") else f"{default} unless given."
    if kind is click.BOOL:
        return click.Option([f"{name}/--no-{name[2:]}"], default=None, help=help_text)
    return click.Option([name], type=kind, help=help_text)


def _type(annotation: Any) -> Type:
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
    return _TYPES[kind]
