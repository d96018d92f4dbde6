# Header features (tools/perf/util/header.c).

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .attr import CLOCKS, Attr
from .formats import Format
from .machine import Machine, padded
from .tracing import tracing_data

TRACING_DATA, HOSTNAME, OSRELEASE, VERSION, ARCH, NRCPUS = 1, 3, 4, 5, 6, 7
CMDLINE, EVENT_DESC, SAMPLE_TIME, CLOCKID, DIR_FORMAT, COMPRESSED, CLOCK_DATA = (
    11,
    12,
    21,
    23,
    24,
    27,
    29,
)


# The host and tool that a described recording names in its header; None leaves a feature out.
@dataclass(frozen=True)
class Header:
    hostname: str | None = "described"
    os_release: str | None = "6.18.0"
    tool_version: str | None = "6.1.187"
    arch: str | None = "x86_64"
    nr_cpus: int | None = 2
    cmdline: tuple[str, ...] | None = ("perf", "record", "-a")
    event_names: bool = True
    sample_time: tuple[int, int] | None = None
    clock: str | None = None
    wall_clock_ns: int = 1_700_000_000_000_000_000
    saved_cmdlines: tuple[tuple[int, str], ...] = ()
    # /proc/kallsyms, which perf recorded until 4.x.
    kallsyms: str = ""
    # From 0.6 on, the tracing data ends in the names of tasks.
    tracing_version: str = "0.6"


USUAL_HEADER = Header()


def text(machine: Machine, value: str) -> bytes:
    data = padded(value.encode() + b"\0", 64)
    return machine.pack("I", len(data)) + data


def features(
    machine: Machine, header: Header, attrs: Sequence[Attr], formats: Iterable[Format]
) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    formats = list(formats)
    if formats:
        found[TRACING_DATA] = tracing_data(
            *(machine, formats, dict(header.saved_cmdlines)),
            kallsyms=header.kallsyms,
            version=header.tracing_version,
        )
    strings = {
        HOSTNAME: header.hostname,
        OSRELEASE: header.os_release,
        VERSION: header.tool_version,
        ARCH: header.arch,
    }
    found |= {bit: text(machine, value) for bit, value in strings.items() if value is not None}
    if header.nr_cpus is not None:
        found[NRCPUS] = machine.pack("II", header.nr_cpus, header.nr_cpus)
    if header.cmdline is not None:
        found[CMDLINE] = machine.pack("I", len(header.cmdline)) + b"".join(
            text(machine, word) for word in header.cmdline
        )
    if header.event_names:
        found[EVENT_DESC] = event_desc(machine, attrs)
    if header.sample_time is not None:
        found[SAMPLE_TIME] = machine.pack("QQ", *header.sample_time)
    if header.clock is not None:
        found[CLOCKID] = machine.pack("Q", 1)
        found[CLOCK_DATA] = machine.pack(
            "IIQQ", 1, CLOCKS[header.clock], header.wall_clock_ns, 5_000_000_000
        )
    return dict(sorted(found.items()))


def event_desc(machine: Machine, attrs: Sequence[Attr]) -> bytes:
    size = max((attr.size for attr in attrs), default=128)
    data = machine.pack("II", len(attrs), size)
    for attr in attrs:
        data += (
            padded(attr.encode(machine), size)[:size]
            + machine.pack("I", len(attr.ids))
            + text(machine, attr.name)
        )
        data += b"".join(machine.pack("Q", identity) for identity in attr.ids)
    return data
