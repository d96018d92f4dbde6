# Records that perf itself adds (types from 64 on, tools/lib/perf/include/perf/event.h).

from dataclasses import dataclass

from .machine import padded
from .records import Record
from .sample import Layout


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
