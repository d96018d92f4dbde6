# What the rows of an answer are of. Without pandas, for the command line's sake.

from typing import Any, Literal, get_args

from ..errors import ArgumentError

By = Literal["comm", "tid", "cpu", "device"]
# Of tasks; of devices, on all CPUs or on each.
TaskBy = Literal["tid", "comm", "cpu"]
DeviceBy = Literal["device", "cpu"]
# Devices, or the bonds, teams and bridges that they are ports of.
MasterBy = Literal["device", "master"]


def check_by(by: str, known: Any = By) -> None:
    if by not in get_args(known):
        raise ArgumentError(f"by={by!r}: one of {', '.join(get_args(known))}")


def victim_keys(by: By) -> list[str]:
    # Thieves gathered by device are set against the same victims as by command.
    return {"comm": ["comm"], "tid": ["tid", "comm"], "cpu": ["cpu"], "device": ["comm"]}[by]
