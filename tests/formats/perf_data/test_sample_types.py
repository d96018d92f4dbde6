# Every sample_type, read_format and size of attr, in every byte order: what a sample says is what
# was described, and what perf says.

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis._native import Capture
from support.host import Fresh, examples
from support.native_tables import rows
from support.oracle import dumped_samples
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
from support.perfdata.attr import (
    BRANCH_ANY,
    BRANCH_HW_INDEX,
    READ_GROUP,
    READ_ID,
    READ_TIME_ENABLED,
    READ_TIME_RUNNING,
    TYPE_HARDWARE,
)
from support.perfdata.sample import CONTEXT_HV, CONTEXT_KERNEL, CONTEXT_USER, CPU_MODES

T = SampleType
NONE = SampleType(0)
PROGRAM = "prog"
WORD = st.sampled_from([0, 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1]) | st.integers(
    0, 2**64 - 1
)
# No frame looks like a marker: those are the last page of the address space.
FRAME = st.integers(1, 2**64 - 5000)
MARKERS = (CONTEXT_HV, CONTEXT_KERNEL, CONTEXT_USER)
# Fields of one word each, as columns.
WORDS = {
    T.ADDR: "addr",
    T.DATA_SRC: "data_src",
    T.TRANSACTION: "transaction",
    T.PHYS_ADDR: "phys_addr",
    T.CGROUP: "cgroup",
    T.DATA_PAGE_SIZE: "data_page_size",
    T.CODE_PAGE_SIZE: "code_page_size",
}
# Where each of attr's parts ends: a smaller attr cannot ask for it.
SIZES = (64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 256)
NEEDS = {T.BRANCH_STACK: 80, T.REGS_USER: 96, T.STACK_USER: 96, T.REGS_INTR: 104}


@dataclass(frozen=True)
class Sampled:
    machine: Machine
    attrs: tuple[Attr, ...]
    samples: tuple[Sample, ...]

    def write(self, path: Path, pipe: bool = False) -> Path:
        records = [Comm(one.where.pid, one.where.tid, PROGRAM) for one in self.samples]
        told = [*records, *self.samples, FinishedRound()]
        write = write_pipe if pipe else write_file
        path.write_bytes(write(self.attrs, [], told, machine=self.machine))
        return path


@st.composite
def sample_types(draw: st.DrawFn, events: int, without: SampleType) -> SampleType:
    kinds = NONE
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
    names = ("cycles", "instructions", "cache-references")[: draw(st.integers(1, 3))]
    kinds = draw(sample_types(len(names), without))
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
        for config, name in enumerate(names)
    )


def words(count: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*[WORD] * count)


@st.composite
def chains(draw: st.DrawFn) -> tuple[int, ...]:
    chain: list[int] = []
    for marker in MARKERS:
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
def sampled(draw: st.DrawFn, without: SampleType = NONE, largest: int = 256) -> Sampled:
    machine = draw(st.sampled_from(list(MACHINES.values())))
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
                **{name: draw(WORD) for name in ("ip", "period", *WORDS.values())},
            )
        )
    return Sampled(machine, attrs_, tuple(told))


# Frames without the markers, and how many of them are not the user's.
def frames(chain: tuple[int, ...]) -> tuple[list[int], int]:
    user = chain.index(CONTEXT_USER) if CONTEXT_USER in chain else len(chain)
    plain = [[one for one in part if one not in MARKERS] for part in (chain[:user], chain[user:])]
    return plain[0] + plain[1], len(plain[0])


def weights(one: Sample, kinds: SampleType) -> dict[str, int]:
    first, second, third = one.weight
    if T.WEIGHT_STRUCT in kinds:
        return {"weight": first, "weight2": second, "weight3": third}
    return {"weight": third << 48 | second << 32 | first} if T.WEIGHT in kinds else {}


def counted(one: Sample, told: Sampled) -> dict[str, int]:
    attr = told.attrs[one.where.event]
    if T.READ not in attr.sample_type or one.counts is None:
        return {}
    times = {
        "time_enabled_ns": (READ_TIME_ENABLED, one.counts.enabled),
        "time_running_ns": (READ_TIME_RUNNING, one.counts.running),
    }
    found = {name: value for name, (bit, value) in times.items() if attr.read_format & bit}
    return found | {
        f"read:{told.attrs[event].name}": value for event, value, _ in one.counts.values
    }


def expected(one: Sample, told: Sampled) -> dict[str, Any]:
    attr = told.attrs[one.where.event]
    kinds = attr.sample_type
    chain, kernel = frames(one.callchain)
    asked = {
        "time_ns": (T.TIME, one.where.time),
        "cpu": (T.CPU, one.where.cpu),
        "pid": (T.TID, one.where.pid),
        "tid": (T.TID, one.where.tid),
        "comm": (T.TID, PROGRAM),
        "ip": (T.IP, one.ip),
        "callchain": (T.CALLCHAIN, chain),
        "kernel_frames": (T.CALLCHAIN, kernel),
    }
    row: dict[str, Any] = {name: v if bit in kinds else None for name, (bit, v) in asked.items()}
    fixed = None if "freq" in attr.flags else attr.period
    row |= {"cpu_mode": one.mode, "period": one.period if T.PERIOD in kinds else fixed}
    row |= {name: getattr(one, name) for bit, name in WORDS.items() if bit in kinds}
    return row | weights(one, kinds) | counted(one, told)


@examples(60)
@given(sampled(), st.booleans())
def test_samples_say_what_was_described(fresh: Fresh, told: Sampled, pipe: bool) -> None:
    capture = Capture(str(told.write(fresh() / "perf.data", pipe)))
    for place, attr in enumerate(told.attrs):
        wanted = [expected(one, told) for one in told.samples if one.where.event == place]
        assert rows(capture.samples(attr.name)) == wanted, (attr.name, told.machine)
        for limit in (0, 1, len(wanted) + 1):
            assert rows(capture.samples(attr.name, limit)) == wanted[:limit]


# perf 6.1 knows attrs of up to 128 bytes; what it prints of each field, it took from the bytes.
PERFS = 128
PRINTED = {T.IP: "ip", **{bit: name for bit, name in WORDS.items() if bit <= T.PHYS_ADDR}}


def printed(one: Sample, told: Sampled) -> dict[str, Any]:
    kinds = told.attrs[one.where.event].sample_type
    row: dict[str, Any] = {"misc": CPU_MODES[one.mode], "time": one.where.time}
    row |= {"pid": one.where.pid, "tid": one.where.tid}
    if T.CPU in kinds:
        row["cpu"] = one.where.cpu
    row |= {name: getattr(one, name) for bit, name in PRINTED.items() if bit in kinds}
    if T.CALLCHAIN in kinds:
        row["callchain"] = list(one.callchain)
    if T.BRANCH_STACK in kinds:
        row["branches"] = [(branch.source, branch.target) for branch in one.branches]
    if T.REGS_USER in kinds and one.user_registers:
        row["user_registers"] = list(one.user_registers)
    if T.REGS_INTR in kinds and one.interrupt_registers:
        row["intr_registers"] = list(one.interrupt_registers)
    if T.STACK_USER in kinds and one.user_stack:
        row["stack"] = len(one.user_stack)
    # Of WEIGHT_STRUCT's third part it prints something else, except for one architecture.
    row |= {name: value for name, value in weights(one, kinds).items() if name != "weight3"}
    return row | {name: v for name, v in counted(one, told).items() if name.startswith("time_")}


# Without a time, perf prints its samples all the same, but in no line of this form; counts without
# the ids of their events it refuses.
def for_perf(one: Attr) -> Attr:
    kinds = one.sample_type | T.TIME | T.TID
    return replace(one, sample_type=kinds, read_format=one.read_format | READ_ID)


@examples(20)
@given(sampled(without=T.AUX, largest=PERFS))
def test_perf_reads_what_was_described(fresh: Fresh, told: Sampled) -> None:
    told = replace(told, attrs=tuple(for_perf(one) for one in told.attrs))
    wanted = [printed(one, told) for one in told.samples]
    seen = dumped_samples(told.write(fresh() / "perf.data"))
    assert [
        {name: value for name, value in mine.items() if name in theirs}
        for mine, theirs in zip(seen, wanted, strict=True)
    ] == wanted
