# What trace-cmd says of a trace.dat: `trace-cmd report` with raw fields and full times, parsed. It
# shares no code with the decoder under test, nor with the writer.

import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from netcost_analysis._native import Capture
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


# From here on a whole trace.dat as the decoder reads it, against what trace-cmd shows of the same
# file: every event, every field, every loss.
COMMON = re.compile(r"common_|time_")
ARRAY = re.compile(r"ARRAY\[(.*)\]")


def fields(table: pa.Table) -> list[str]:
    return [name for name in table.column_names if not COMMON.match(name)]


def plain(value: Any, element: int) -> Any:
    if isinstance(value, list):
        return b"".join((one % 2 ** (8 * element)).to_bytes(element, "little") for one in value)
    return value if isinstance(value, (str, bytes)) or value is None else int(value) % 2**64


# What trace-cmd shows, as the value that it may stand for.
def shown(text: str, base: int) -> Any:
    if array := ARRAY.fullmatch(text):
        return bytes(int(one, 16) for one in array[1].split(", ") if one)
    try:
        return (number(text) if base == 10 else int(text, base)) % 2**64
    except ValueError:
        return text


# Numbers stand in the base of their print format, which does not always say so: a column is right
# if it is in one of them. Text is what it is.
def same(mine: list[Any], theirs: list[str]) -> bool:
    if all(isinstance(one, str) for one in mine):
        return mine == theirs
    for base in (10, 16, 8):
        pairs = [(one, shown(text, base)) for one, text in zip(mine, theirs, strict=True)]
        if all(one == other or is_named(one, other) for one, other in pairs):
            return True
    return False


# trace-cmd shows what it knows of an address instead, its name or the text there; and bytes that a
# print format takes for text end where that does.
def is_named(mine: Any, theirs: Any) -> bool:
    if not isinstance(theirs, str):
        return False
    if isinstance(mine, bytes):
        return mine.split(b"\0")[0] == theirs.encode(errors="surrogateescape")
    return isinstance(mine, int) and mine >= 1 << 30


# trace-cmd shows as many addresses as the format says, and reads on behind the record for them.
def same_stacks(mine: list[Any], theirs: list[str]) -> bool:
    wanted = [shown(text, 10) for text in theirs]
    return all(
        one[: len(other)] == other[: len(one)] for one, other in zip(mine, wanted, strict=True)
    )


def width(kind: pa.DataType) -> int:
    return kind.value_type.bit_width // 8 if pa.types.is_list(kind) else 0


def assert_same(path: Path, buffer: str = "") -> dict[str, int]:
    """
    Compare all events of one buffer.

    :return: how many there are of each event
    """
    capture = Capture(str(path), buffer=buffer)
    unit = capture.header()["time_unit"]
    tables = {name.partition(":")[2]: pa.table(one) for name, one in capture.all_events().items()}
    tables = {name: table for name, table in tables.items() if len(table)}
    reported = report(path, {name: fields(table) for name, table in tables.items()}, "--nodate")
    wanted = [one for one in reported if one.buffer == buffer]
    assert Counter(one.event for one in wanted) == {name: len(one) for name, one in tables.items()}
    for event, table in tables.items():
        theirs = [one for one in wanted if one.event == event]
        widths = {name: width(table.schema.field(name).type) for name in fields(table)}
        rows = table.to_pylist()
        # Both are in the order of time; CPUs that tie come in either order.
        rows.sort(key=lambda row: (row[f"time_{unit}"], row["common_cpu"]))
        theirs.sort(key=lambda one: (one.time, one.cpu))
        for row, one in zip(rows, theirs, strict=True):
            where = (row[f"time_{unit}"], row["common_cpu"], row["common_pid"])
            assert where == (one.time, one.cpu, one.pid), event
        for name, element in widths.items():
            mine = [plain(row[name], element) for row in rows]
            texts = [one.fields[name] for one in theirs]
            check = same_stacks if (event, name) == ("kernel_stack", "caller") else same
            assert check(mine, texts), (event, name, mine[:5], texts[:5])
    assert_same_losses(capture, wanted)
    return {name: len(table) for name, table in tables.items()}


# A loss ends at the event that trace-cmd marks.
def assert_same_losses(capture: Capture, reported: list[Reported]) -> None:
    scan = capture.scan()
    marked = [one for one in reported if one.dropped]
    assert scan["lost_events"] == sum(one.dropped for one in marked if one.dropped > 0)
    assert scan["lost_unknown"] == sum(one.dropped < 0 for one in marked)
    coverage = pa.table(scan["coverage"]).to_pylist()
    ends = sorted((row["cpu"], row["end_ns"], max(row["lost"] or 0, 0)) for row in coverage)
    assert ends == sorted((one.cpu, one.time, max(one.dropped, 0)) for one in marked)
