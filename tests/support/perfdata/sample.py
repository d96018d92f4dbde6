# PERF_RECORD_SAMPLE, and the sample_id that ends every other record: what stands there, in which
# order, follows from the event's attr (perf_output_sample in kernel/events/core.c).

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from .attr import (
    BRANCH_HW_INDEX,
    READ_GROUP,
    READ_ID,
    READ_LOST,
    READ_TIME_ENABLED,
    READ_TIME_RUNNING,
    Attr,
    SampleType,
)
from .machine import WORD, Machine, padded

CPU_MODES = {"unknown": 0, "kernel": 1, "user": 2, "hypervisor": 3}
CPU_MODES |= {"guest kernel": 4, "guest user": 5}
# Between the frames of a call chain, these say whose frames follow (enum perf_callchain_context).
CONTEXT_HV, CONTEXT_KERNEL, CONTEXT_USER = (2**64 - down for down in (32, 128, 512))
CONTEXT_GUEST_KERNEL, CONTEXT_GUEST_USER = (2**64 - down for down in (2176, 2560))


# Where and when a record was written: part of a sample's body and, with sample_id_all, the tail of
# every other record.
@dataclass(frozen=True)
class Where:
    cpu: int = 0
    time: int = 0
    pid: int = 0
    tid: int = 0
    event: int = 0


@dataclass(frozen=True)
class Branch:
    source: int
    target: int
    mispredicted: bool = False


# PERF_SAMPLE_READ: the event's own count, or those of its whole group, as (place of the event among
# the attrs, count, lost).
@dataclass(frozen=True)
class Counts:
    values: tuple[tuple[int, int, int], ...]
    enabled: int = 77
    running: int = 77


# Every sample_type bit has its value here; which of them are written, the attr says.
@dataclass(frozen=True)
class Sample:
    where: Where
    raw: bytes = b""
    ip: int = 0xFFFFFFFF81000000
    addr: int = 0
    period: int = 1
    callchain: tuple[int, ...] = ()
    mode: str = "kernel"
    counts: Counts | None = None
    branches: tuple[Branch, ...] = ()
    user_registers: tuple[int, ...] | None = None
    user_stack: bytes = b""
    # var1_dw, var2_w, var3_w of WEIGHT_STRUCT; WEIGHT has one number.
    weight: tuple[int, int, int] = (0, 0, 0)
    data_src: int = 0
    transaction: int = 0
    interrupt_registers: tuple[int, ...] | None = None
    phys_addr: int = 0
    cgroup: int = 0
    data_page_size: int = 0
    code_page_size: int = 0
    aux: bytes = b""


@dataclass(frozen=True)
class Layout:
    attrs: Sequence[Attr]
    machine: Machine

    # perf gives every event one id per CPU; a description with a single id means the same id
    # everywhere.
    def id(self, cpu: int, event: int) -> int:
        ids = self.attrs[event].ids
        return ids[cpu % len(ids)] if ids else 0

    def sample(self, one: Sample) -> bytes:
        event = one.where.event
        if event not in self._wanted:
            wanted = self.attrs[event].sample_type
            self._wanted[event] = [part for bit, part in PARTS if bit & wanted]
        return padded(b"".join(part(self, one) for part in self._wanted[event]), 8)

    # By event: its parts, for to look at every bit takes longer than to write them.
    @cached_property
    def _wanted(self) -> "dict[int, list[Part]]":
        return {}

    def tail(self, where: Where) -> bytes:
        if not self.attrs:
            return b""
        attr = self.attrs[where.event]
        if "sample_id_all" not in attr.flags:
            return b""
        identity = self.id(where.cpu, where.event)
        parts = (
            (SampleType.TID, self._ids(where)),
            (SampleType.TIME, self._word(where.time)),
            (SampleType.ID, self._word(identity)),
            (SampleType.STREAM_ID, self._word(identity + 1000)),
            (SampleType.CPU, self.machine.pack("II", where.cpu, 0)),
            (SampleType.IDENTIFIER, self._word(identity)),
        )
        return b"".join(part for bit, part in parts if bit in attr.sample_type)

    def read(self, attr: Attr, counts: Counts, cpu: int) -> bytes:
        """struct read_format: with READ_GROUP the times come before the counts, else after."""
        wanted = attr.read_format
        times = [
            *([counts.enabled] if wanted & READ_TIME_ENABLED else []),
            *([counts.running] if wanted & READ_TIME_RUNNING else []),
        ]
        each = [
            [
                value,
                *([self.id(cpu, event)] if wanted & READ_ID else []),
                *([lost] if wanted & READ_LOST else []),
            ]
            for event, value, lost in counts.values
        ]
        if wanted & READ_GROUP:
            return self.machine.words([len(each), *times, *(word for one in each for word in one)])
        return self.machine.words([each[0][0], *times, *each[0][1:]])

    def _word(self, value: int) -> bytes:
        return self.machine.pack("Q", value & WORD)

    def _ids(self, where: Where) -> bytes:
        return self.machine.pack("II", where.pid & 0xFFFFFFFF, where.tid & 0xFFFFFFFF)

    def _identity(self, one: Sample) -> bytes:
        return self._word(self.id(one.where.cpu, one.where.event))

    def _stream(self, one: Sample) -> bytes:
        return self._word(self.id(one.where.cpu, one.where.event) + 1000)

    # perf reports how far the count moved since the event's previous sample and drops a sample that
    # did not: the time moves.
    def _counts(self, one: Sample) -> bytes:
        where = one.where
        counts = one.counts or Counts(((where.event, where.time, 0),))
        return self.read(self.attrs[where.event], counts, where.cpu)

    # The kernel rounds so that the payload and its size end on 8 bytes, and counts the padding.
    def _raw(self, one: Sample) -> bytes:
        raw = one.raw + bytes(-(len(one.raw) + 4) % 8)
        return self.machine.pack("I", len(raw)) + raw

    def _branches(self, one: Sample) -> bytes:
        machine, attr = self.machine, self.attrs[one.where.event]
        index = [2**64 - 1] if attr.branch_sample_type & BRANCH_HW_INDEX else []
        branches = machine.words([len(one.branches), *index])
        for branch in one.branches:
            branches += machine.words([branch.source, branch.target])
            branches += machine.bitfields([(int(not branch.mispredicted), 1, 1)])
        return branches

    def _user_registers(self, one: Sample) -> bytes:
        return self._registers(one.user_registers, self.attrs[one.where.event].user_registers)

    def _interrupt_registers(self, one: Sample) -> bytes:
        mask = self.attrs[one.where.event].interrupt_registers
        return self._registers(one.interrupt_registers, mask)

    # A copied stack is followed by how much of it is real; nothing follows where nothing was
    # copied.
    def _user_stack(self, one: Sample) -> bytes:
        stack = padded(one.user_stack, 8)
        dynamic = self.machine.words([len(one.user_stack)]) if stack else b""
        return self.machine.words([len(stack)]) + stack + dynamic

    def _weight(self, one: Sample) -> bytes:
        first, second, third = one.weight
        return self._word(third << 48 | second << 32 | first)

    def _aux(self, one: Sample) -> bytes:
        aux = padded(one.aux, 8)
        return self.machine.words([len(aux)]) + aux

    # PERF_SAMPLE_REGS_ABI_NONE (0): the task had no registers to show, and none follow.
    def _registers(self, values: tuple[int, ...] | None, mask: int) -> bytes:
        if values is None:
            return self.machine.words([0])
        assert len(values) == mask.bit_count(), "a value for every register that the attr asks for"
        return self.machine.words([2 if self.machine.word == 8 else 1, *values])


Part = Callable[[Layout, Sample], bytes]
# In the order in which they are written.
PARTS: tuple[tuple[SampleType, Part], ...] = (
    (SampleType.IDENTIFIER, Layout._identity),
    (SampleType.IP, lambda to, one: to._word(one.ip)),
    (SampleType.TID, lambda to, one: to._ids(one.where)),
    (SampleType.TIME, lambda to, one: to._word(one.where.time)),
    (SampleType.ADDR, lambda to, one: to._word(one.addr)),
    (SampleType.ID, Layout._identity),
    (SampleType.STREAM_ID, Layout._stream),
    (SampleType.CPU, lambda to, one: to.machine.pack("II", one.where.cpu, 0)),
    (SampleType.PERIOD, lambda to, one: to._word(one.period)),
    (SampleType.READ, Layout._counts),
    (SampleType.CALLCHAIN, lambda to, one: to.machine.words([len(one.callchain), *one.callchain])),
    (SampleType.RAW, Layout._raw),
    (SampleType.BRANCH_STACK, Layout._branches),
    (SampleType.REGS_USER, Layout._user_registers),
    (SampleType.STACK_USER, Layout._user_stack),
    (SampleType.WEIGHT | SampleType.WEIGHT_STRUCT, Layout._weight),
    (SampleType.DATA_SRC, lambda to, one: to._word(one.data_src)),
    (SampleType.TRANSACTION, lambda to, one: to._word(one.transaction)),
    (SampleType.REGS_INTR, Layout._interrupt_registers),
    (SampleType.PHYS_ADDR, lambda to, one: to._word(one.phys_addr)),
    (SampleType.CGROUP, lambda to, one: to._word(one.cgroup)),
    (SampleType.DATA_PAGE_SIZE, lambda to, one: to._word(one.data_page_size)),
    (SampleType.CODE_PAGE_SIZE, lambda to, one: to._word(one.code_page_size)),
    (SampleType.AUX, Layout._aux),
)
