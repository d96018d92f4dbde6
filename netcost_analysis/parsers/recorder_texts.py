"""What netcost-record itself writes: settings/tasks, and what --check prints, preflight.txt."""

import re
from typing import NamedTuple

_STAT = re.compile(r"([0-9]{1,9}) \((.*)\) [A-Za-z] [0-9]{1,9} ?")
_TOLD = re.compile(r"([0-9]{1,9}) (cgroup|threads) (.*)")
_COST = re.compile(r"^cost\s.*?(\d{1,18}) ns an event \((.*?)\)", re.MULTILINE)
_TID = re.compile("[0-9]{1,9}")


class Process(NamedTuple):
    """One process: its name, the path of its cgroup ("/" for the root), its threads."""

    comm: str
    cgroup: str
    tids: frozenset[int]


def parse_tasks(text: str) -> dict[int, Process]:
    """By pid, of lines "PID (NAME) STATE PARENT", "PID cgroup PATH" and "PID threads TID..."."""
    comms: dict[int, str] = {}
    cgroups: dict[int, str] = {}
    threads: dict[int, list[int]] = {}
    for line in text.splitlines():
        if stat := _STAT.fullmatch(line):
            comms[int(stat[1])] = stat[2]
        elif (said := _TOLD.fullmatch(line)) and said[2] == "cgroup":
            cgroups[int(said[1])] = said[3]
        elif said:
            tids = filter(_TID.fullmatch, said[3].split())
            threads[int(said[1])] = list(map(int, tids))
    return {
        pid: Process(comm, cgroups.get(pid, "/"), frozenset({pid, *threads.get(pid, ())}))
        for pid, comm in comms.items()
    }


class PreflightCost(NamedTuple):
    """What a traced event costs, in ns, and how that was found."""

    event_ns: int
    how: str


def parse_preflight_cost(text: str) -> PreflightCost | None:
    """The line on an event's cost; None without one."""
    match = _COST.search(text)
    return PreflightCost(int(match[1]), match[2]) if match else None
