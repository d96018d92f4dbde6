# What victims are told apart by. Without pandas, for the command line's sake.

from typing import Literal, get_args

from ..errors import ArgumentError

By = Literal["comm", "tid", "cpu", "device"]


def check_by(by: str) -> None:
    if by not in get_args(By):
        raise ArgumentError(f"by={by!r}: one of {', '.join(get_args(By))}")


def victim_keys(by: By) -> list[str]:
    # Thieves gathered by device are set against the same victims as by command.
    return {"comm": ["comm"], "tid": ["tid", "comm"], "cpu": ["cpu"], "device": ["comm"]}[by]
