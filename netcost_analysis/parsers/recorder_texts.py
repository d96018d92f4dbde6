"""Parsers for netcost-record's own files: settings/tasks, and --check's preflight.txt."""

import re
from typing import NamedTuple

_STAT = re.compile(r"([0-9]{1,9}) \((.*)\) [A-Za-z] [0-9]{1,9} ?")
_FIELD = re.compile(r"([0-9]{1,9}) (cgroup|threads) (.*)")
_COST = re.compile(r"^cost\s.*?(\d{1,18}) ns an event \((.*?)\)", re.MULTILINE)
_TID = re.compile("[0-9]{1,9}")


class Process(NamedTuple):
    """One process: its name, the path of its cgroup ("/" for the root), its threads."""

    comm: str
    cgroup: str
    tids: frozenset[int]


def parse_tasks(text: str) -> dict[int, Process]:
    """Processes by pid, from "PID (NAME) STATE PARENT", "PID cgroup PATH", "PID threads TID..."."""
    comms: dict[int, str] = {}
    cgroups: dict[int, str] = {}
    threads: dict[int, list[int]] = {}
    for line in text.splitlines():
        if stat := _STAT.fullmatch(line):
            comms[int(stat[1])] = stat[2]
        elif (field := _FIELD.fullmatch(line)) and field[2] == "cgroup":
            cgroups[int(field[1])] = field[3]
        elif field:
            tids = filter(_TID.fullmatch, field[3].split())
            threads[int(field[1])] = list(map(int, tids))
    return {
        pid: Process(comm, cgroups.get(pid, "/"), frozenset({pid, *threads.get(pid, ())}))
        for pid, comm in comms.items()
    }


class PreflightCost(NamedTuple):
    """The cost of a traced event, in ns, and how it was measured."""

    event_ns: int
    how: str


def parse_preflight_cost(text: str) -> PreflightCost | None:
    """The cost in preflight.txt; None if there is none."""
    match = _COST.search(text)
    return PreflightCost(int(match[1]), match[2]) if match else None
