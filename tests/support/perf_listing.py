# What `perf script` says of a recording beyond the bytes of its samples: whose they are and of
# which event, what was mapped, which kernel symbols came and went.

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.host import require_tool
from support.oracle import run
from support.perf_dump import dumped_samples

SAMPLE = re.compile(
    r"\s*(?P<comm>.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+"
    r"(?P<s>\d+)\.(?P<ns>\d{9}):\s+(?P<event>\S+):"
)
MAPPING = re.compile(
    r"PERF_RECORD_MMAP2? (?P<pid>-?\d+)/(?P<tid>-?\d+): \[(?P<address>\w+)\((?P<length>\w+)\) @ "
    r"(?P<page_offset>\w+)(?: <(?P<build_id>\w*)>| [^\]]*)?\]: (?P<access>\S+) (?P<filename>.*)$"
)
SYMBOL = re.compile(
    r"PERF_RECORD_KSYMBOL addr (?P<address>\w+) len (?P<length>\d+) type \d+ "
    r"flags 0x(?P<flags>\w+) name (?P<name>.*)$"
)
# enum perf_callchain_context: whose frames follow. Other numbers up there are no marks but what
# a task without frame pointers had on its stack.
USERS = {2**64 - 512, 2**64 - 2560}
OTHERS = {2**64 - one for one in (32, 128, 2048, 2176)}


@dataclass
class Listing:
    samples: list[dict[str, Any]] = field(default_factory=list)
    mappings: list[dict[str, Any]] = field(default_factory=list)
    symbols: list[dict[str, Any]] = field(default_factory=list)


# Samples in the order of time. grouped: perf lists a group's sample once for each
# event that counted something; the first is the one that sampled.
def listing(path: Path, grouped: bool = False) -> Listing:
    shown = ("--show-mmap-events", "--show-bpf-events", "--ns", "-G")
    fields = ("-F", "comm,pid,tid,time,event")
    found, lines = Listing(), []
    for line in run(require_tool("perf"), "script", "-f", *shown, *fields, "-i", path).splitlines():
        if match := MAPPING.search(line):
            found.mappings.append(mapping(match.groupdict()))
        elif match := SYMBOL.search(line):
            found.symbols.append(symbol(match.groupdict()))
        elif "PERF_RECORD_" not in line and (match := SAMPLE.match(line)):
            lines.append(match)
    if grouped:
        lines = [one for one in lines if one["event"] == lines[0]["event"]]
    # Of several files, perf takes what is of the same time in no particular order.
    dumped = sorted(dumped_samples(path), key=lambda one: (one["time"], one["tid"]))
    for one, line in zip(dumped, sorted(lines, key=when_and_who), strict=True):
        assert (one["time"], one["tid"]) == when_and_who(line)
        found.samples.append({**one, "comm": line["comm"], "event": line["event"]})
    return found


def when_and_who(line: re.Match[str]) -> tuple[int, int]:
    return int(line["s"] + line["ns"]), int(line["tid"])


def mapping(said: dict[str, str]) -> dict[str, Any]:
    return {
        "pid": int(said["pid"]),
        "tid": int(said["tid"]),
        **{name: int(said[name], 0) for name in ("address", "length", "page_offset")},
        "filename": said["filename"],
        "executable": "x" in said["access"],
        "build_id": said["build_id"] or None,
    }


def symbol(said: dict[str, str]) -> dict[str, Any]:
    return {
        "address": int(said["address"], 16),
        "length": int(said["length"]),
        "unregistered": bool(int(said["flags"], 16)),
        "name": said["name"],
    }


# A chain without its marks, and how many of its frames, up to the last such, are not the task's.
def frames(chain: list[int]) -> tuple[list[int], int]:
    found: list[int] = []
    kernel, in_user = 0, False
    for one in chain:
        if one in USERS | OTHERS:
            in_user = one in USERS
        else:
            found.append(one)
            kernel = kernel if in_user else len(found)
    return found, kernel
