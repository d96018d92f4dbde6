# What trace-cmd says of a trace.dat: `trace-cmd report` with raw fields and full times, parsed. It
# shares no code with the decoder under test, nor with the writer.

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conftest import require_tool

LINE = re.compile(
    r"^(?:(?P<buffer>[\w.]+): +)? *(?P<comm>.*)-(?P<pid>\d+) +\[(?P<cpu>\d+)\] *"
    r"(?P<time>[\d.]+): (?P<event>\w+): *(?P<rest>.*)$"
)
DROPPED = re.compile(r"^CPU:(?P<cpu>\d+) \[(?:(?P<count>\d+) )?EVENTS DROPPED\]$")


@dataclass(frozen=True)
class Reported:
    event: str
    time: int
    cpu: int
    pid: int
    comm: str
    # Every field but the common ones, as printed.
    fields: Mapping[str, str]
    # Of which ring buffer: the top one has no name.
    buffer: str = ""
    # Events lost before this one on its CPU; -1 where the kernel did not count them.
    dropped: int = 0


def trace_cmd(*words: str | Path) -> str:
    command = [require_tool("trace-cmd"), *map(str, words)]
    done = subprocess.run(command, capture_output=True, timeout=120)
    said = done.stderr.decode(errors="replace").strip()
    assert done.returncode == 0, f"{command}: {done.returncode} {said[-500:]}"
    return done.stdout.decode(errors="surrogateescape")


# Plugins print their events as they like, and one of them says the field by another name.
def report(path: Path, fields: Mapping[str, Sequence[str]], *options: str) -> list[Reported]:
    """
    Every event of the file, in the order of time.

    :param fields: names of an event's fields in their order, since values may hold anything
    """
    patterns = {name: pattern(names) for name, names in fields.items()}
    lost: dict[int, int] = {}
    found = []
    for line in trace_cmd("report", "-t", "-R", "-N", *options, "-i", path).split("\n"):
        if mark := DROPPED.match(line):
            lost[int(mark["cpu"])] = int(mark["count"] or -1)
        elif match := LINE.match(line):
            cpu, event = int(match["cpu"]), match["event"]
            values = patterns[event].match(match["rest"]) if event in patterns else None
            assert values or event not in patterns, line
            found.append(
                Reported(
                    *(event, nanoseconds(match["time"]), cpu, int(match["pid"])),
                    *(match["comm"].strip(), values.groupdict() if values else {}),
                    *(match["buffer"] or "", lost.pop(cpu, 0)),
                )
            )
        else:
            assert not line or line.startswith("cpus="), f"not understood: {line!r}"
    return found


# Seconds with all their digits, or a number that is no time.
def nanoseconds(text: str) -> int:
    whole, dot, part = text.partition(".")
    assert not dot or len(part) == 9, text
    return int(whole) * 1_000_000_000 + int(part) if dot else int(whole)


def pattern(names: Sequence[str]) -> re.Pattern[str]:
    return re.compile("^" + " ".join(f"{name}=(?P<{name}>.*)" for name in names) + "$", re.DOTALL)


# Numbers are printed as the print format likes them: 0x10, 016, 16.
def number(text: str) -> int:
    return int(text, 16) if text.startswith("0x") else int(text)


# common_flags and common_preempt_count stand in the latency columns, where letters have to be put
# together again. One character a CPU's number, flags, need-resched, context, depth.
def flag_columns(path: Path) -> Iterator[tuple[int, str]]:
    row = re.compile(r"^.*-\d+ +(\d+)(\S{4,6}) +([\d.]+): ")
    for line in trace_cmd("report", "-t", "-l", "-N", "-i", path).splitlines():
        if match := row.match(line):
            yield nanoseconds(match[3]), match[2]


def events_of(reported: Sequence[Reported]) -> dict[str, list[Reported]]:
    result: defaultdict[str, list[Reported]] = defaultdict(list)
    for one in reported:
        result[one.event].append(one)
    return result
