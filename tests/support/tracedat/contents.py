# What a trace.dat holds, whatever its version: formats, names, options, and for each buffer the
# rings of its CPUs.

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from support.perfdata.features import cmdlines, counted, event_formats, header_info, sized
from support.perfdata.formats import Format
from support.perfdata.machine import X86_64, Machine

from . import options as o

CLOCKS = (
    *("local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "tai"),
    "x86-tsc",
)


# A ring buffer of the kernel: the top one has no name, an instance has its own. Either the rings of
# CPUs, in the order of the file, or the text of a latency tracer.
@dataclass(frozen=True)
class Buffer:
    name: str = ""
    clock: str = "mono"
    rings: Mapping[int, bytes] = field(default_factory=dict)
    page_size: int = 4096
    text: str | None = None


@dataclass(frozen=True)
class Contents:
    buffers: tuple[Buffer, ...]
    formats: tuple[Format, ...]
    # The formats of the system "ftrace", which trace-cmd keeps apart.
    own_formats: tuple[Format, ...] = ()
    machine: Machine = X86_64
    page_size: int = 4096
    options: tuple[o.Option, ...] = ()
    cmdlines: Mapping[int, str] = field(default_factory=dict)
    kallsyms: str = ""
    printk: str = ""
    # Bytes of a long where trace-cmd ran: fewer than the kernel's, for a 32-bit trace-cmd.
    user_word: int | None = None

    @property
    def top(self) -> Buffer:
        return next(one for one in self.buffers if not one.name)

    @property
    def instances(self) -> list[Buffer]:
        return [one for one in self.buffers if one.name]

    # The file trace_clock of the top buffer.
    @property
    def clock_file(self) -> str:
        known = CLOCKS if self.top.clock in CLOCKS else (*CLOCKS, self.top.clock)
        shown = (f"[{one}]" if one == self.top.clock else one for one in known)
        return " ".join(shown) + "\n"

    def magic(self, version: int) -> bytes:
        start = b"\x17\x08\x44tracing" + str(version).encode() + b"\0"
        start += bytes([self.machine.order == ">", self.user_word or self.machine.word])
        return start + self.machine.pack("I", self.page_size)


def own_formats(one: Contents) -> bytes:
    texts = (sized(own.text(one.machine), one.machine) for own in one.own_formats)
    return one.machine.pack("I", len(one.own_formats)) + b"".join(texts)


# What both versions have: one after the other in 6, each a section in 7.
SECTIONS: dict[int, Callable[[Contents], bytes]] = {
    o.HEADER_INFO: lambda one: header_info(one.machine, one.top.page_size),
    o.FTRACE_EVENTS: own_formats,
    o.EVENT_FORMATS: lambda one: event_formats(one.formats, one.machine),
    o.KALLSYMS: lambda one: counted(one.kallsyms, one.machine),
    o.PRINTK: lambda one: counted(one.printk, one.machine),
    o.CMDLINES: lambda one: cmdlines(one.cmdlines, one.machine),
}
