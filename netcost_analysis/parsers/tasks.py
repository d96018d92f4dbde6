"""Which tasks a host had, and in which cgroups: netcost-record's settings/tasks."""

import re
from typing import NamedTuple

_STAT = re.compile(r"([0-9]{1,9}) \((.*)\) [A-Za-z] [0-9]{1,9} ?")
_TOLD = re.compile(r"([0-9]{1,9}) (cgroup|threads) (.*)")
_TID = re.compile("[0-9]{1,9}")


class Process(NamedTuple):
    """One process.

    Attributes
    ----------
    comm : str
        Its name.
    cgroup : str
        The path of its cgroup; "/" for the root.
    tids : frozenset of int
        Its threads.
    """

    comm: str
    cgroup: str
    tids: frozenset[int]


def parse_tasks(text: str) -> dict[int, Process]:
    """Lines "PID (NAME) STATE PARENT", "PID cgroup PATH" and "PID threads TID...".

    Parameters
    ----------
    text : str
        The file; other lines are passed over.

    Returns
    -------
    dict of int to Process
        By pid.
    """
    comms: dict[int, str] = {}
    told: dict[str, dict[int, str]] = {"cgroup": {}, "threads": {}}
    for line in text.splitlines():
        if stat := _STAT.fullmatch(line):
            comms[int(stat[1])] = stat[2]
        elif said := _TOLD.fullmatch(line):
            told[said[2]][int(said[1])] = said[3]
    return {
        pid: Process(
            comm,
            told["cgroup"].get(pid, "/"),
            frozenset({pid, *_tids(told["threads"].get(pid, ""))}),
        )
        for pid, comm in comms.items()
    }


def _tids(text: str) -> list[int]:
    return [int(word) for word in text.split() if _TID.fullmatch(word)]
