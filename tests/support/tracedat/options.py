# The options of a trace.dat: numbers and layouts as in lib/trace-cmd/trace-input.c. What they say
# is packed when the file is, in the byte order of its machine.

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from support.perfdata.machine import Machine

DONE, DATE, CPUSTAT, BUFFER, TRACECLOCK, UNAME, HOOK, OFFSET = range(8)
CPUCOUNT, VERSION, PROCMAPS, TRACEID, TIME_SHIFT, GUEST, TSC2NSEC, STRINGS = range(8, 16)
HEADER_INFO, FTRACE_EVENTS, EVENT_FORMATS, KALLSYMS, PRINTK, CMDLINES, BUFFER_TEXT = range(16, 23)

# Of TIME_SHIFT: between two samples, the offset is on the line that joins them.
INTERPOLATE = 1


# Parts are texts, which end with a NUL, bytes as they are, or (bytes, number).
@dataclass(frozen=True)
class Option:
    id: int
    parts: tuple[str | bytes | tuple[int, int], ...] = ()

    def data(self, machine: Machine) -> bytes:
        return b"".join(machine.part(one) for one in self.parts)

    def encode(self, machine: Machine) -> bytes:
        data = self.data(machine)
        return machine.pack("HI", self.id, len(data)) + data


# The time of day when the trace's clock was 0, in microseconds.
def date(microseconds: int) -> Option:
    return Option(DATE, (hex(microseconds),))


# Nanoseconds that belong on every time.
def offset(nanoseconds: int) -> Option:
    return Option(OFFSET, (str(nanoseconds),))


def trace_clock(text: str) -> Option:
    return Option(TRACECLOCK, (text,))


def uname(text: str = "Linux described 6.18.0 x86_64") -> Option:
    return Option(UNAME, (text,))


def version() -> Option:
    return Option(VERSION, ("3.1.6 described",))


def hook(text: str) -> Option:
    return Option(HOOK, (text,))


def cpu_count(count: int) -> Option:
    return Option(CPUCOUNT, ((4, count),))


def trace_id(number: int) -> Option:
    return Option(TRACEID, ((8, number),))


def proc_maps(pid: int, comm: str, libraries: Sequence[tuple[int, int, str]]) -> Option:
    lines = [f"{pid:x} {len(libraries):x} {comm}"]
    lines += [f"{start:x} {end:x} {name}" for start, end, name in libraries]
    return Option(PROCMAPS, ("\n".join(lines) + "\n",))


# A CPU's file `stats`, as read when recording ended.
def cpu_stat(cpu: int, entries: int, overrun: int = 0, dropped: int = 0) -> Option:
    lines = f"CPU: {cpu}\nentries: {entries}\noverrun: {overrun}\ncommit overrun: 0\n"
    lines += "bytes: 0\noldest event ts:     0.000000\nnow ts:     1.000000\n"
    return Option(CPUSTAT, (f"{lines}dropped events: {dropped}\nread events: {entries}\n",))


# Heads the stats of an instance's CPUs.
def stats_of(instance: str) -> Option:
    return Option(CPUSTAT, (f"\nBuffer: {instance}\n\n",))


def tsc2nsec(mult: int, shift: int, start: int = 0) -> Option:
    return Option(TSC2NSEC, ((4, mult), (4, shift), (8, start)))


def guest(name: str, identity: int, cpus: Mapping[int, int]) -> Option:
    numbers = [part for cpu, pid in cpus.items() for part in ((4, cpu), (4, pid))]
    return Option(GUEST, (name, (8, identity), (4, len(cpus)), *numbers))


# One moment at which guest and host compared clocks: host = (guest * scaling >> fraction) + offset.
@dataclass(frozen=True)
class Compared:
    at: int
    offset: int
    scaling: int = 1
    fraction: int = 0


def time_shift(
    peer: int, cpus: Sequence[Sequence[Compared]], flags: int = 0, fractions: bool = True
) -> Option:
    """
    How a guest's clock follows its host's.

    :param fractions: older files end before them
    """
    parts: list[tuple[int, int]] = [(8, peer), (4, flags), (4, len(cpus))]
    for samples in cpus:
        parts.append((4, len(samples)))
        parts += [(8, one.at) for one in samples]
        parts += [(8, one.offset) for one in samples]
        parts += [(8, one.scaling) for one in samples]
    if fractions:
        parts += [(8, one.fraction) for samples in cpus for one in samples]
    return Option(TIME_SHIFT, tuple(parts))
