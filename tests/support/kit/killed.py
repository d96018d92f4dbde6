# Killing a command of the kit at a moment that only its name tells, and what it has left after
# the recovery that the documentation names.

import random
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.kit.host_snapshot import lasting_differences, processes
from support.kit.record import started


def killed(command: Sequence[object], moment: float, number: signal.Signals, **options: Any) -> int:
    """Starts it and signals it alone after so many seconds: what it ended with."""
    process = started(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **options,
    )
    try:
        return process.wait(timeout=moment)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
    # One that puts its host back takes its time.
    return process.wait(timeout=60)


def moment_of(name: str, longest: float) -> float:
    """Another for each name, and always the same."""
    return round(random.Random(name).uniform(0, longest), 3)


def none_runs(folder: Path, seconds: float) -> list[str]:
    """The processes that still have to do with the folder after so long."""
    deadline = time.monotonic() + seconds
    while (left := [said for _, said in processes(folder)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def left(before: dict[str, str], *folders: Path) -> str:
    """What is not as it was, for a message; empty where all is."""
    return "\n".join(lasting_differences(before, *folders))
