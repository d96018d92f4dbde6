# Samples of every sample_type, described at random: what they say, and what attr they follow.

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from support.perfdata import (
    MACHINES,
    Attr,
    Branch,
    Comm,
    Counts,
    FinishedRound,
    Machine,
    Sample,
    SampleType,
    Where,
    write_file,
    write_pipe,
)
from support.perfdata.attr import BRANCH_ANY, BRANCH_HW_INDEX, READ_GROUP, READ_ID, TYPE_HARDWARE
from support.perfdata.sample import CONTEXT_HV, CONTEXT_KERNEL, CONTEXT_USER

T = SampleType
NONE = SampleType(0)
PROGRAM = "prog"
NAMES = ("cycles", "instructions", "cache-references")
WORD = st.sampled_from([0, 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1]) | st.integers(
    0, 2**64 - 1
)
# No frame looks like a marker: those are the last page of the address space.
FRAME = st.integers(1, 2**64 - 5000)
# Fields of one word each.
VALUES = ("ip", "addr", "period", "data_src", "transaction", "phys_addr", "cgroup")
VALUES += ("data_page_size", "code_page_size")
# Where each of attr's parts ends: a smaller attr cannot ask for it.
SIZES = (64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 256)
NEEDS = {T.BRANCH_STACK: 80, T.REGS_USER: 96, T.STACK_USER: 96, T.REGS_INTR: 104}


@dataclass(frozen=True)
class Sampled:
    machine: Machine
    attrs: tuple[Attr, ...]
    samples: tuple[Sample, ...]

    def write(self, pipe: bool = False) -> bytes:
        records = [Comm(one.where.pid, one.where.tid, PROGRAM) for one in self.samples]
        told = [*records, *self.samples, FinishedRound()]
        return (write_pipe if pipe else write_file)(self.attrs, [], told, machine=self.machine)


@st.composite
def sample_types(draw: st.DrawFn, events: int, without: SampleType) -> SampleType:
    kinds = T(0)
    for bit in draw(st.sets(st.sampled_from(list(T)))):
        kinds |= bit
    if T.WEIGHT in kinds and T.WEIGHT_STRUCT in kinds:
        kinds &= ~draw(st.sampled_from([T.WEIGHT, T.WEIGHT_STRUCT]))
    kinds &= ~without
    # With more than one event, samples say whose they are.
    if events > 1 and not kinds & (T.ID | T.IDENTIFIER):
        kinds |= draw(st.sampled_from([T.ID, T.IDENTIFIER]))
    return kinds


@st.composite
def attrs(draw: st.DrawFn, without: SampleType, largest: int) -> tuple[Attr, ...]:
    events = draw(st.integers(1, 3))
    kinds = draw(sample_types(events, without))
    least = max((size for bit, size in NEEDS.items() if bit in kinds), default=64)
    size = draw(st.sampled_from([one for one in SIZES if least <= one <= largest]))
    masks = st.sampled_from([0, 0b1, 0b1011])
    index = draw(st.sampled_from([0, BRANCH_HW_INDEX])) if size >= 80 else 0
    read_format = draw(st.integers(0, 31))
    told_by_id = kinds & (T.ID | T.IDENTIFIER) or read_format & READ_GROUP
    with_ids = bool(told_by_id) or draw(st.booleans())
    return tuple(
        Attr(
            name,
            config,
            (100 * config + 100, 100 * config + 101) if with_ids else (),
            type=TYPE_HARDWARE,
            sample_type=kinds,
            period=draw(st.integers(1, 10**9)),
            # Without ids nothing says whose counts a group's are.
            read_format=read_format | (READ_ID if read_format & READ_GROUP else 0),
            flags=frozenset({"sample_id_all"} | draw(st.sampled_from([set(), {"freq"}]))),
            size=size,
            branch_sample_type=BRANCH_ANY | index,
            user_registers=draw(masks) if size >= 96 else 0,
            interrupt_registers=draw(masks) if size >= 104 else 0,
        )
        for config, name in enumerate(NAMES[:events])
    )


def words(count: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*[WORD] * count)


@st.composite
def chains(draw: st.DrawFn) -> tuple[int, ...]:
    chain: list[int] = []
    for marker in (CONTEXT_HV, CONTEXT_KERNEL, CONTEXT_USER):
        frames = draw(st.lists(FRAME, max_size=3))
        chain += [marker, *frames] if frames else []
    return tuple(chain)


@st.composite
def counts(draw: st.DrawFn, attrs_: tuple[Attr, ...], event: int, before: int) -> Counts:
    grouped = attrs_[0].read_format & READ_GROUP
    places = range(len(attrs_)) if grouped else [event]
    # A count only grows, and perf leaves out a sample of which it did not.
    values = [(place, before + draw(st.integers(1, 1000)), 0) for place in places]
    return Counts(tuple(values), draw(st.integers(0, 2**40)), draw(st.integers(0, 2**40)))


@st.composite
def sampled(
    draw: st.DrawFn, machines: Any = None, without: SampleType = NONE, largest: int = 256
) -> Sampled:
    machine = draw(st.sampled_from(list(MACHINES.values())) if machines is None else machines)
    attrs_ = draw(attrs(without, largest))
    told = []
    for number in range(draw(st.integers(1, 6))):
        event = draw(st.integers(0, len(attrs_) - 1))
        attr = attrs_[event]
        tid = draw(st.integers(1, 2**22))
        registers = [
            st.none() | words(one.bit_count())
            for one in (attr.user_registers, attr.interrupt_registers)
        ]
        values = {name: draw(WORD) for name in VALUES}
        told.append(
            Sample(
                Where(draw(st.integers(0, 7)), 1000 + number, tid, tid, event),
                raw=draw(st.binary(max_size=40)),
                callchain=draw(chains()),
                mode=draw(st.sampled_from(["kernel", "user", "hypervisor", "unknown"])),
                counts=draw(counts(attrs_, event, 2000 * number)),
                branches=tuple(Branch(*one) for one in draw(st.lists(words(2), max_size=3))),
                user_registers=draw(registers[0]),
                user_stack=draw(st.binary(max_size=20)),
                weight=draw(st.tuples(st.integers(0, 2**32 - 1), *[st.integers(0, 2**16 - 1)] * 2)),
                interrupt_registers=draw(registers[1]),
                aux=draw(st.binary(max_size=20)),
                **values,
            )
        )
    return Sampled(machine, attrs_, tuple(told))
