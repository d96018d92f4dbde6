# The kernel's records (types below 64, include/uapi/linux/perf_event.h) besides samples. Each is a
# description that knows its bytes; the sample_id that ends them all is added by container.py.

from dataclasses import dataclass
from typing import ClassVar

from .machine import padded
from .sample import CPU_MODES, Counts, Layout, Where

# Bits of perf_event_header.misc beside the CPU mode.
MISC_PER_TYPE, MISC_BUILD_ID = 1 << 13, 1 << 14
NOWHERE = Where()


class Record:
    type: ClassVar[int]
    misc: ClassVar[int] = 0

    def body(self, layout: Layout) -> bytes:
        return b""


def text(value: str) -> bytes:
    return padded(value.encode() + b"\0", 8)


@dataclass(frozen=True)
class Comm(Record):
    pid: int
    tid: int
    comm: str
    where: Where = NOWHERE
    exec: bool = False
    mode: str = "unknown"
    type = 3

    @property
    def misc(self) -> int:  # type: ignore[override]
        return CPU_MODES[self.mode] | (MISC_PER_TYPE if self.exec else 0)

    def body(self, layout: Layout) -> bytes:
        ids = layout.machine.integer(self.pid, 4) + layout.machine.integer(self.tid, 4)
        return ids + text(self.comm)


@dataclass(frozen=True)
class Fork(Record):
    pid: int
    ppid: int
    tid: int
    ptid: int
    time: int
    where: Where = NOWHERE
    exits: bool = False

    @property
    def type(self) -> int:  # type: ignore[override]
        return 4 if self.exits else 7

    def body(self, layout: Layout) -> bytes:
        return layout.machine.pack("IIIIQ", self.pid, self.ppid, self.tid, self.ptid, self.time)


# PERF_RECORD_MMAP: what perf wrote for everything before 3.12, and for the kernel still.
@dataclass(frozen=True)
class Mmap(Record):
    pid: int
    address: int
    length: int
    filename: str
    where: Where = NOWHERE
    tid: int | None = None
    page_offset: int = 0
    mode: str = "user"
    executable: bool = True
    type: ClassVar[int] = 1

    @property
    def misc(self) -> int:  # type: ignore[override]
        return CPU_MODES[self.mode] | (0 if self.executable else MISC_PER_TYPE)

    def body(self, layout: Layout) -> bytes:
        machine = layout.machine
        tid = self.pid if self.tid is None else self.tid
        ids = machine.integer(self.pid, 4) + machine.integer(tid, 4)
        where = machine.words([self.address, self.length, self.page_offset])
        return ids + where + self.inode(layout) + text(self.filename)

    def inode(self, layout: Layout) -> bytes:
        return b""


@dataclass(frozen=True)
class Mmap2(Mmap):
    # Stands where the device and the inode stand otherwise, and MISC_BUILD_ID says so.
    build_id: bytes | None = None
    type: ClassVar[int] = 10

    @property
    def misc(self) -> int:  # type: ignore[override]
        return CPU_MODES[self.mode] | (0 if self.build_id is None else MISC_BUILD_ID)

    def inode(self, layout: Layout) -> bytes:
        pack = layout.machine.pack
        if self.build_id is None:
            identity = pack("IIQQ", 8, 1, 99, 0)
        else:
            identity = pack("BBH", len(self.build_id), 0, 0) + self.build_id.ljust(20, b"\0")
        # PROT_READ, with PROT_EXEC; MAP_PRIVATE
        return identity + pack("II", 5 if self.executable else 1, 2)


@dataclass(frozen=True)
class Lost(Record):
    event: int
    lost: int
    where: Where
    type = 2

    def body(self, layout: Layout) -> bytes:
        return layout.machine.words([layout.id(self.where.cpu, self.event), self.lost])


@dataclass(frozen=True)
class LostSamples(Record):
    lost: int
    where: Where
    type = 13

    def body(self, layout: Layout) -> bytes:
        return layout.machine.words([self.lost])


@dataclass(frozen=True)
class Throttle(Record):
    where: Where
    unthrottle: bool = False

    @property
    def type(self) -> int:  # type: ignore[override]
        return 6 if self.unthrottle else 5

    def body(self, layout: Layout) -> bytes:
        identity = layout.id(self.where.cpu, self.where.event)
        return layout.machine.words([self.where.time, identity, identity + 1000])


# PERF_RECORD_READ: the final count of an event that was inherited by a task that ended.
@dataclass(frozen=True)
class Read(Record):
    where: Where
    counts: Counts
    type = 8

    def body(self, layout: Layout) -> bytes:
        ids = layout.machine.pack("II", self.where.pid, self.where.tid)
        attr = layout.attrs[self.where.event]
        return ids + layout.read(attr, self.counts, self.where.cpu)


@dataclass(frozen=True)
class KernelSymbol(Record):
    address: int
    length: int
    name: str
    kind: int = 1
    unregistered: bool = False
    where: Where = NOWHERE
    type = 17

    def body(self, layout: Layout) -> bytes:
        values = (self.address, self.length, self.kind, int(self.unregistered))
        return layout.machine.pack("QIHH", *values) + text(self.name)


# A record that is written as its numbers (bytes, value), bytes and texts come.
@dataclass(frozen=True)
class Plain(Record):
    type: int  # type: ignore[misc]
    parts: tuple[tuple[int, int] | bytes | str, ...]
    where: Where = NOWHERE
    misc: int = 0  # type: ignore[misc]

    def body(self, layout: Layout) -> bytes:
        return padded(b"".join(layout.machine.part(one) for one in self.parts), 8)


# From here on what perf itself adds (types from 64 on, tools/lib/perf/include/perf/event.h).
# The name of an event, before EVENT_DESC and in a pipe; perf stopped at 3.11.
@dataclass(frozen=True)
class EventType(Record):
    config: int
    name: str
    type = 65

    def body(self, layout: Layout) -> bytes:
        return layout.machine.words([self.config]) + padded(self.name.encode() + b"\0", 8)


@dataclass(frozen=True)
class BuildId(Record):
    pid: int
    build_id: bytes
    filename: str
    misc: int = 1  # type: ignore[misc]
    type = 67

    def body(self, layout: Layout) -> bytes:
        identity = layout.machine.integer(self.pid, 4) + padded(self.build_id, 24)[:24]
        return identity + padded(self.filename.encode() + b"\0", 64)


@dataclass(frozen=True)
class FinishedRound(Record):
    type = 68


# Which event and CPU an id means. `perf inject --guest-data` adds, behind all of them, the machine
# that it came from: (pid of the virtual machine on the host, number of its virtual CPU).
@dataclass(frozen=True)
class IdIndex(Record):
    # (id, place in its event, cpu, tid)
    entries: tuple[tuple[int, int, int, int], ...]
    machines: tuple[tuple[int, int], ...] = ()
    type = 69

    def body(self, layout: Layout) -> bytes:
        words = [word for entry in (*self.entries, *self.machines) for word in entry]
        return layout.machine.words([len(self.entries), *words])


# AUXTRACE is the one record whose payload follows it without being counted in header.size.
@dataclass(frozen=True)
class Auxtrace(Record):
    payload: bytes
    type = 71

    def body(self, layout: Layout) -> bytes:
        return layout.machine.pack("QQQIIII", len(self.payload), 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True)
class HeaderFeature(Record):
    feature: int
    data: bytes
    type = 80

    def body(self, layout: Layout) -> bytes:
        return layout.machine.words([self.feature]) + padded(self.data, 8)


# Any type with any content.
@dataclass(frozen=True)
class Other(Record):
    type: int  # type: ignore[misc]
    payload: bytes = b""
    misc: int = 0  # type: ignore[misc]

    def body(self, layout: Layout) -> bytes:
        return self.payload


# Bytes that are no record: rubbish between records, records that lie about their size.
@dataclass(frozen=True)
class Bytes(Record):
    content: bytes
