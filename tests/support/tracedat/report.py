# What trace-cmd says of a trace.dat: `trace-cmd report` with raw fields and full times, parsed. It
# shares no code with the decoder under test, nor with the writer.

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.host import require_tool
from support.perfdata.formats import Format

LINE = re.compile(
    r"^(?:(?P<buffer>[\w.]+): +)? *(?P<comm>.*)-(?P<pid>\d+) +\[(?P<cpu>\d+)\] *"
    r"(?P<time>[\d.]+): (?P<event>\w+): *(?P<rest>.*)$"
)
DROPPED = re.compile(
    r"^ *(?:(?P<buffer>[\w.]+): )? *CPU:(?P<cpu>\d+) \[(?:(?P<count>\d+) )?EVENTS DROPPED\]$"
)


# Of an event whose format was not recorded there is nothing to show.
NO_EVENT = ("cpus=", "[UNKNOWN EVENT]")


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


# Of formats' own fields.
def names(formats: Iterable[Format]) -> dict[str, list[str]]:
    return {
        one.name: [field.name for field, _ in one.offsets()[len(one.common) :]] for one in formats
    }


# Plugins print their events as they like, and one of them says the field by another name.
def report(path: Path, fields: Mapping[str, Sequence[str]], *options: str) -> list[Reported]:
    """
    Every event of the file, in the order of time.

    :param fields: names of an event's fields, since values may hold anything
    """
    patterns: dict[str, re.Pattern[str]] = {}
    mark: re.Match[str] | None = None
    found = []
    for line in trace_cmd("report", "-t", "-R", "-N", *options, "-i", path).split("\n"):
        if not line:
            continue
        if match := DROPPED.match(line):
            mark = match
        elif match := LINE.match(line):
            event, values = match["event"], None
            if event in fields:
                if event not in patterns:
                    patterns[event] = pattern(fields[event], match["rest"])
                values = patterns[event].match(match["rest"])
                assert values, line
            # A mark has the buffer's name in place of the event behind it.
            found.append(
                Reported(
                    *(event, nanoseconds(match["time"]), int(match["cpu"]), int(match["pid"])),
                    *(match["comm"].strip(), values.groupdict() if values else {}),
                    *((mark or match)["buffer"] or "", int(mark["count"] or -1) if mark else 0),
                )
            )
            mark = None
        else:
            assert line.startswith(NO_EVENT), f"not understood: {line!r}"
    return found


# Seconds with all their digits, or a number that is no time.
def nanoseconds(text: str) -> int:
    whole, dot, part = text.partition(".")
    assert not dot or len(part) == 9, text
    return int(whole) * 1_000_000_000 + int(part) if dot else int(whole)


# The order is the recorded format's, which need not be that of the offsets.
def pattern(names: Sequence[str], shown: str) -> re.Pattern[str]:
    names = sorted(names, key=lambda name: f" {shown}".find(f" {name}="))
    return re.compile("^" + " ".join(f"{name}=(?P<{name}>.*)" for name in names) + "$", re.DOTALL)


# Numbers are printed as the print format likes them: 0x10, 016, 16, (nil).
def number(text: str) -> int:
    if text == "(nil)":
        return 0
    return int(text, 16) if text.startswith("0x") else int(text)


# (time, CPU, common_flags, common_preempt_count) of every event: the flags from the raw format's
# latency column, the count from the other's.
def contexts(path: Path) -> Iterator[tuple[int, int, int, int]]:
    raw = re.compile(r"^.*-\d+ +(\d+)-0x([0-9a-f]+) +([\d.]+): ")
    plain = re.compile(r"^.*-\d+ +\d+...([0-9a-f.]). +[\d.]+: ")
    listed = (trace_cmd("report", "-t", "-l", "-N", *more, "-i", path) for more in (["-R"], []))
    for one, other in zip(
        *(filter(plain_or_raw, text.splitlines()) for text in listed), strict=True
    ):
        flags, depth = raw.match(one), plain.match(other)
        assert flags, one
        assert depth, other
        count = 0 if depth[1] == "." else int(depth[1], 16)
        yield nanoseconds(flags[3]), int(flags[1]), int(flags[2], 16), count


def plain_or_raw(line: str) -> bool:
    return bool(line) and not line.startswith(("cpus=", "CPU:"))
