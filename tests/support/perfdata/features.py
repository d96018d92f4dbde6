# Header features (tools/perf/util/header.c), and how both recorders keep the formats of events.

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .attr import CLOCKS, Attr
from .formats import Format
from .machine import Machine, padded

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
        found[TRACING_DATA] = tracing_data(machine, header, formats)
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


HEADER_EVENT = (
    "# compressed entry header\n\ttype_len    :    5 bits\n"
    "\ttime_delta  :   27 bits\n"
    "\tarray       :   32 bits\n\n"
    "\tpadding     : type == 29\n\ttime_extend : type == 30\n"
    "\ttime_stamp : type == 31\n\tdata max type_len  == 28\n"
)


# The file events/header_page: where the kernel's long is told, and how large a sub-buffer is.
def header_page(machine: Machine, page_size: int = 4096) -> str:
    commit, data = machine.word, 8 + machine.word
    return (
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
        f"\tfield: local_t commit;\toffset:8;\tsize:{commit};\tsigned:1;\n"
        "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
        f"\tfield: char data;\toffset:{data};\tsize:{page_size - data};\tsigned:0;\n"
    )


def sized(text: str, machine: Machine) -> bytes:
    return machine.pack("Q", len(text.encode())) + text.encode()


def counted(text: str, machine: Machine) -> bytes:
    return machine.pack("I", len(text.encode())) + text.encode()


def header_info(machine: Machine, page_size: int = 4096) -> bytes:
    page = b"header_page\0" + sized(header_page(machine, page_size), machine)
    return page + b"header_event\0" + sized(HEADER_EVENT, machine)


def event_formats(formats: Sequence[Format], machine: Machine) -> bytes:
    systems = sorted({one.system for one in formats})
    data = machine.pack("I", len(systems))
    for system in systems:
        members = [one for one in formats if one.system == system]
        data += system.encode() + b"\0" + machine.pack("I", len(members))
        data += b"".join(sized(one.text(machine), machine) for one in members)
    return data


def cmdlines(names: Mapping[int, str], machine: Machine) -> bytes:
    return sized("".join(f"{pid} {comm}\n" for pid, comm in names.items()), machine)


# What carries every event's format (tools/perf/util/trace-event-info.c).
def tracing_data(machine: Machine, header: Header, formats: Sequence[Format]) -> bytes:
    data = b"\x17\x08\x44tracing" + header.tracing_version.encode() + b"\0"
    data += bytes([machine.order == ">", machine.word])
    # The size of a page, and no formats of ftrace's own events.
    data += machine.pack("I", 4096) + header_info(machine) + machine.pack("I", 0)
    data += event_formats(formats, machine) + counted(header.kallsyms, machine)
    # No formats of trace_printk.
    data += machine.pack("I", 0)
    if header.tracing_version < "0.6":
        return data
    return data + cmdlines(dict(header.saved_cmdlines), machine)
