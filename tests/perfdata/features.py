# Header features (tools/perf/util/header.c) and the tracing data that carries every event's format
# (tools/perf/util/trace-event-info.c).

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .formats import Format
from .machine import Machine, padded
from .records import CLOCKS, Attr

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

HEADER_PAGE = (
    "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
    "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
    "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
    "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"
)
HEADER_EVENT = (
    "# compressed entry header\n\ttype_len    :    5 bits\n"
    "\ttime_delta  :   27 bits\n"
    "\tarray       :   32 bits\n\n"
    "\tpadding     : type == 29\n\ttime_extend : type == 30\n"
    "\ttime_stamp : type == 31\n\tdata max type_len  == 28\n"
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
        found[TRACING_DATA] = tracing_data(machine, formats, dict(header.saved_cmdlines))
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


def tracing_data(
    machine: Machine, formats: Sequence[Format], saved_cmdlines: Mapping[int, str] = {}
) -> bytes:
    def sized(content: str) -> bytes:
        return machine.pack("Q", len(content.encode())) + content.encode()

    data = (
        b"\x17\x08\x44tracing"
        + b"0.6\0"
        + bytes([machine.order == ">", machine.word])
        + machine.pack("I", 4096)
    )
    data += b"header_page\0" + sized(HEADER_PAGE) + b"header_event\0" + sized(HEADER_EVENT)
    data += machine.pack("I", 0)
    systems = sorted({one.system for one in formats})
    data += machine.pack("I", len(systems))
    for system in systems:
        members = [one for one in formats if one.system == system]
        data += system.encode() + b"\0" + machine.pack("I", len(members))
        data += b"".join(sized(one.text(machine)) for one in members)
    data += machine.pack("I", 0)
    data += machine.pack("I", 0)
    return data + sized("".join(f"{pid} {comm}\n" for pid, comm in saved_cmdlines.items()))
