# What else the machine did while a test ran: for a failure where a load, a scheduler or a clock
# decides.

import os
import time
from pathlib import Path
from typing import NamedTuple

from support.host import of_processes

TICKS = os.sysconf("SC_CLK_TCK")
# In a line of /proc/stat: idle, iowait, steal.
IDLE, WAITING, STOLEN = 3, 4, 7
SHOWN = 5


class Reading(NamedTuple):
    # cpus: the ticks of all; spent: those of each process, with its name.
    at: float
    cpus: list[int]
    spent: dict[int, tuple[str, int]]


def reading() -> Reading:
    cpus = Path("/proc/stat").read_text().partition("\n")[0].split()[1:]
    spent = {}
    for pid, line in of_processes("stat").items():
        head, _, rest = line.decode(errors="replace").rpartition(") ")
        words = rest.split()
        spent[pid] = (head.partition("(")[2], int(words[11]) + int(words[12]))
    return Reading(time.monotonic(), [int(word) for word in cpus], spent)


def evidence(since: Reading) -> str:
    now = reading()
    seconds = max(now.at - since.at, 1 / TICKS)
    grown = [new - old for new, old in zip(now.cpus, since.cpus, strict=True)]
    whole = max(sum(grown[: STOLEN + 1]), 1)
    busy = whole - grown[IDLE] - grown[WAITING]
    try:
        pressure = Path("/proc/pressure/cpu").read_text().partition("\n")[0]
    except OSError:
        pressure = "this kernel tells no pressure"
    used = sorted(
        (
            (ticks - since.spent.get(pid, (name, 0))[1], pid, name)
            for pid, (name, ticks) in now.spent.items()
        ),
        reverse=True,
    )
    others = ", ".join(
        f"{name} ({pid}) {100 * ticks / TICKS / seconds:.0f} %"
        for ticks, pid, name in used[:SHOWN]
        if ticks > 0
    )
    return (
        f"in {seconds:.1f} s the CPUs were {100 * busy / whole:.0f} % busy, "
        f"{100 * grown[STOLEN] / whole:.1f} % stolen; pressure: {pressure}; ran: {others}"
    )
