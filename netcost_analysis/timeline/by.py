# What each row of an answer stands for. Imports no pandas, so that the command line starts fast.

from typing import Any, Literal, get_args

from ..errors import ArgumentError

By = Literal["comm", "tid", "cpu", "device"]
# For rows of tasks, and for rows of devices, over all CPUs or per CPU.
TaskBy = Literal["tid", "comm", "cpu"]
DeviceBy = Literal["device", "cpu"]
# Devices, or the bonds, teams and bridges that they are ports of.
MasterBy = Literal["device", "master"]


def check_by(by: str, known: Any = By) -> None:
    if by not in get_args(known):
        raise ArgumentError(f"by={by!r}: one of {', '.join(get_args(known))}")


def victim_keys(by: By) -> list[str]:
    # With by="device" thieves are grouped by device and victims by comm.
    return {"comm": ["comm"], "tid": ["tid", "comm"], "cpu": ["cpu"], "device": ["comm"]}[by]
