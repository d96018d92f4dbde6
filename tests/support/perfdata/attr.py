# struct perf_event_attr: what an event was asked to record (include/uapi/linux/perf_event.h).

from dataclasses import dataclass
from enum import IntFlag

from .machine import Machine


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
    BRANCH_STACK = 1 << 11
    REGS_USER = 1 << 12
    STACK_USER = 1 << 13
    WEIGHT = 1 << 14
    DATA_SRC = 1 << 15
    IDENTIFIER = 1 << 16
    TRANSACTION = 1 << 17
    REGS_INTR = 1 << 18
    PHYS_ADDR = 1 << 19
    AUX = 1 << 20
    CGROUP = 1 << 21
    DATA_PAGE_SIZE = 1 << 22
    CODE_PAGE_SIZE = 1 << 23
    WEIGHT_STRUCT = 1 << 24


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

# Where each flag stands among attr's bit-fields, in order of declaration.
FLAG_BITS = {
    "disabled": 0,
    "inherit": 1,
    "pinned": 2,
    "exclude_user": 4,
    "exclude_kernel": 5,
    "exclude_hv": 6,
    "mmap": 8,
    "comm": 9,
    "freq": 10,
    "enable_on_exec": 12,
    "task": 13,
    "sample_id_all": 18,
    "exclude_host": 19,
    "exclude_guest": 20,
    "mmap2": 23,
    "comm_exec": 24,
    "use_clockid": 25,
    "context_switch": 26,
    "write_backward": 27,
    "namespaces": 28,
    "ksymbol": 29,
    "bpf_event": 30,
    "cgroup": 32,
    "text_poke": 33,
    "build_id": 34,
    "defer_callchain": 38,
}
# The one flag of two bits: which of them is the higher depends on the byte order.
PRECISE_IP = 15
CLOCKS = {"realtime": 0, "monotonic": 1, "monotonic_raw": 4, "boottime": 7, "tai": 11}
TYPE_HARDWARE, TYPE_SOFTWARE, TYPE_TRACEPOINT, TYPE_CACHE, TYPE_RAW = 0, 1, 2, 3, 4
READ_TIME_ENABLED, READ_TIME_RUNNING, READ_ID, READ_GROUP, READ_LOST = 1, 2, 4, 8, 16
BRANCH_ANY, BRANCH_HW_INDEX = 1 << 3, 1 << 17
USUAL_FLAGS = frozenset({"disabled", "inherit", "sample_id_all", "exclude_guest"})


@dataclass(frozen=True)
class Attr:
    name: str
    config: int
    # Empty where the recorder wrote none: one event needs no id to tell its samples.
    ids: tuple[int, ...]
    type: int = TYPE_TRACEPOINT
    sample_type: SampleType = USUAL
    period: int = 1
    read_format: int = READ_ID | READ_LOST
    flags: frozenset[str] = USUAL_FLAGS
    clock: str | None = None
    size: int = 128
    precise_ip: int = 0
    branch_sample_type: int = BRANCH_ANY
    # One bit per register that REGS_USER and REGS_INTR carry.
    user_registers: int = 0
    interrupt_registers: int = 0
    stack_user: int = 0
    aux_sample_size: int = 0

    def encode(self, machine: Machine) -> bytes:
        pack = machine.pack
        flags = set(self.flags) | ({"use_clockid"} if self.clock else set())
        fields = [(FLAG_BITS[flag], 1, 1) for flag in flags] + [(PRECISE_IP, 2, self.precise_ip)]
        body = pack("IIQQ", self.type, self.size, self.config, self.period)
        body += pack("QQ", int(self.sample_type), self.read_format) + machine.bitfields(fields)
        # wakeup_events, bp_type, bp_addr, bp_len
        body += pack("IIQQ", 0, 0, 0, 0) + pack("QQ", self.branch_sample_type, self.user_registers)
        body += pack("Ii", self.stack_user, CLOCKS[self.clock] if self.clock else 0)
        # aux_watermark, sample_max_stack
        body += pack("QIHH", self.interrupt_registers, 0, 0, 0)
        # aux_action, sig_data, config3
        body += pack("IIQQ", self.aux_sample_size, 0, 0, 0)
        return body[: self.size] if self.size <= len(body) else body + bytes(self.size - len(body))
