# perf.data records: descriptions on one side, bytes on the other. Layouts from
# include/uapi/linux/perf_event.h (kernel records, types below 64) and
# tools/lib/perf/include/perf/event.h (records that perf itself adds).

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntFlag

from .machine import X86_64, Machine, padded


class SampleType(IntFlag):
    IP = 1 << 0
    TID = 1 << 1
    TIME = 1 << 2
    ADDR = 1 << 3
    READ = 1 << 4
    CALLCHAIN = 1 << 5
    ID = 1 << 6
    CPU = 1 << 7
    PERIOD = 1 << 8
    STREAM_ID = 1 << 9
    RAW = 1 << 10
    IDENTIFIER = 1 << 16


# What `perf record -a -e irq:softirq_entry` asks for.
USUAL = (
    SampleType.IDENTIFIER
    | SampleType.IP
    | SampleType.TID
    | SampleType.TIME
    | SampleType.CPU
    | SampleType.PERIOD
    | SampleType.RAW
)

FLAG_BITS = {
    "disabled": 0,
    "inherit": 1,
    "mmap": 8,
    "comm": 9,
    "freq": 10,
    "task": 13,
    "sample_id_all": 18,
    "exclude_guest": 20,
    "mmap2": 23,
    "comm_exec": 24,
    "use_clockid": 25,
}
CLOCKS = {"realtime": 0, "monotonic": 1, "monotonic_raw": 4, "boottime": 7, "tai": 11}
READ_TIME_ENABLED, READ_TIME_RUNNING, READ_ID, READ_GROUP, READ_LOST = 1, 2, 4, 8, 16


@dataclass(frozen=True)
class Attr:
    name: str
    config: int
    ids: tuple[int, ...]
    type: int = 2
    sample_type: SampleType = USUAL
    period: int = 1
    read_format: int = READ_ID | READ_LOST
    flags: frozenset[str] = frozenset({"disabled", "inherit", "sample_id_all", "exclude_guest"})
    clock: str | None = None
    size: int = 128

    def encode(self, machine: Machine) -> bytes:
        flags = set(self.flags) | ({"use_clockid"} if self.clock else set())
        body = machine.pack(
            "IIQQQQQIIQQQQIiQIHHIIQQQ",
            *(
                self.type,
                self.size,
                self.config,
                self.period,
                int(self.sample_type),
                self.read_format,
            ),
            sum(1 << FLAG_BITS[flag] for flag in flags),
            *(0, 0, 0, 0, 0, 0, 0),
            CLOCKS[self.clock] if self.clock else 0,
            *(0, 0, 0, 0, 0, 0, 0, 0, 0),
        )
        return body[: self.size] if self.size <= len(body) else body + bytes(self.size - len(body))


# Where and when a record was written: the body of a sample and, with sample_id_all, the tail of
# every other record.
@dataclass(frozen=True)
class Where:
    cpu: int = 0
    time: int = 0
    pid: int = 0
    tid: int = 0
    event: int = 0


@dataclass(frozen=True)
class Sample:
    where: Where
    raw: bytes
    ip: int = 0xFFFFFFFF81000000
    addr: int = 0
    period: int = 1
    callchain: tuple[int, ...] = ()


@dataclass(frozen=True)
class Comm:
    pid: int
    tid: int
    comm: str
    where: Where = field(default_factory=Where)


@dataclass(frozen=True)
class Fork:
    pid: int
    ppid: int
    tid: int
    ptid: int
    time: int
    where: Where = field(default_factory=Where)
    exits: bool = False


@dataclass(frozen=True)
class Mmap2:
    pid: int
    address: int
    length: int
    filename: str
    where: Where = field(default_factory=Where)


@dataclass(frozen=True)
class Lost:
    event: int
    lost: int
    where: Where


@dataclass(frozen=True)
class LostSamples:
    lost: int
    where: Where


@dataclass(frozen=True)
class Throttle:
    where: Where
    unthrottle: bool = False


@dataclass(frozen=True)
class FinishedRound:
    pass


# AUXTRACE is the one record whose payload follows it without being counted in header.size.
@dataclass(frozen=True)
class Auxtrace:
    payload: bytes


@dataclass(frozen=True)
class Other:
    type: int
    payload: bytes = b""
    misc: int = 0


Record = (
    Sample | Comm | Fork | Mmap2 | Lost | LostSamples | Throttle | FinishedRound | Auxtrace | Other
)


@dataclass(frozen=True)
class Encoder:
    attrs: Sequence[Attr]
    machine: Machine = X86_64

    def encode(self, record: Record) -> bytes:
        pack = self.machine.pack
        match record:
            case Sample():
                return self._framed(9, self._sample(record), misc=1)
            case Comm(pid, tid, comm, where):
                name = padded(comm.encode() + b"\0", 8)
                ids = self.machine.integer(pid, 4) + self.machine.integer(tid, 4)
                return self._framed(3, ids + name + self._tail(where))
            case Fork(pid, ppid, tid, ptid, time, where, exits):
                body = pack("IIIIQ", pid, ppid, tid, ptid, time)
                return self._framed(4 if exits else 7, body + self._tail(where))
            case Mmap2(pid, address, length, filename, where):
                body = pack("IIQQQIIQQII", pid, pid, address, length, 0, 8, 1, 99, 0, 5, 2)
                return self._framed(
                    10, body + padded(filename.encode() + b"\0", 8) + self._tail(where), misc=2
                )
            case Lost(event, lost, where):
                return self._framed(2, pack("QQ", self._id(where, event), lost) + self._tail(where))
            case LostSamples(lost, where):
                return self._framed(13, pack("Q", lost) + self._tail(where))
            case Throttle(where, unthrottle):
                identity = self._id(where, where.event)
                return self._framed(
                    6 if unthrottle else 5, pack("QQQ", where.time, identity, 0) + self._tail(where)
                )
            case FinishedRound():
                return self._framed(68, b"")
            case Auxtrace(payload):
                return self._framed(71, pack("QQQIIII", len(payload), 0, 0, 0, 0, 0, 0)) + payload
            case Other(type_, payload, misc):
                return self._framed(type_, payload, misc)

    def _framed(self, type_: int, body: bytes, misc: int = 0) -> bytes:
        return self.machine.pack("IHH", type_, misc, len(body) + 8) + body

    # perf gives every event one id per CPU; a description with a single id means the same id
    # everywhere.
    def _id(self, where: Where, event: int) -> int:
        ids = self.attrs[event].ids
        return ids[where.cpu % len(ids)]

    def _sample(self, record: Sample) -> bytes:
        pack, where = self.machine.pack, record.where
        attr = self.attrs[where.event]
        wanted = attr.sample_type
        identity = self._id(where, where.event)
        body = b""
        if SampleType.IDENTIFIER in wanted:
            body += pack("Q", identity)
        if SampleType.IP in wanted:
            body += pack("Q", record.ip)
        if SampleType.TID in wanted:
            body += self.machine.integer(where.pid, 4) + self.machine.integer(where.tid, 4)
        if SampleType.TIME in wanted:
            body += pack("Q", where.time)
        if SampleType.ADDR in wanted:
            body += pack("Q", record.addr)
        if SampleType.ID in wanted:
            body += pack("Q", identity)
        if SampleType.STREAM_ID in wanted:
            body += pack("Q", identity + 1000)
        if SampleType.CPU in wanted:
            body += pack("II", where.cpu, 0)
        if SampleType.PERIOD in wanted:
            body += pack("Q", record.period)
        if SampleType.READ in wanted:
            body += self._read(attr, identity, where.time)
        if SampleType.CALLCHAIN in wanted:
            body += pack("Q", len(record.callchain)) + b"".join(
                pack("Q", ip) for ip in record.callchain
            )
        if SampleType.RAW in wanted:
            body += pack("I", len(record.raw)) + record.raw
        return padded(body, 8)

    def _read(self, attr: Attr, identity: int, value: int) -> bytes:
        pack, wanted = self.machine.pack, attr.read_format
        times = b"".join(
            pack("Q", 77) for bit in (READ_TIME_ENABLED, READ_TIME_RUNNING) if wanted & bit
        )
        # perf reports how far the count moved since the event's previous sample and drops a sample
        # that did not.
        one = pack("Q", value)
        one += pack("Q", identity) if wanted & READ_ID else b""
        one += pack("Q", 0) if wanted & READ_LOST else b""
        if wanted & READ_GROUP:
            return pack("Q", 2) + times + one + one
        return one[:8] + times + one[8:]

    def _tail(self, where: Where) -> bytes:
        pack = self.machine.pack
        attr = self.attrs[where.event]
        if "sample_id_all" not in attr.flags:
            return b""
        wanted = attr.sample_type
        identity = self._id(where, where.event)
        tail = b""
        if SampleType.TID in wanted:
            tail += self.machine.integer(where.pid, 4) + self.machine.integer(where.tid, 4)
        if SampleType.TIME in wanted:
            tail += pack("Q", where.time)
        if SampleType.ID in wanted:
            tail += pack("Q", identity)
        if SampleType.STREAM_ID in wanted:
            tail += pack("Q", identity + 1000)
        if SampleType.CPU in wanted:
            tail += pack("II", where.cpu, 0)
        if SampleType.IDENTIFIER in wanted:
            tail += pack("Q", identity)
        return tail
