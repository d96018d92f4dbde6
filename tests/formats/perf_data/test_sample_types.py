# Every sample_type, read_format and size of attr, in every byte order: what a sample says is what
# was described, and what perf says.

from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis._native import Capture
from support.examples import examples
from support.host import Fresh
from support.native_tables import rows
from support.perf_dump import dumped_samples
from support.perfdata import (
    MACHINES,
    X86_64,
    Attr,
    Sample,
    SampleType,
)
from support.perfdata.attr import (
    READ_ID,
    READ_TIME_ENABLED,
    READ_TIME_RUNNING,
)
from support.perfdata.sample import (
    CONTEXT_HV,
    CONTEXT_KERNEL,
    CONTEXT_USER,
    CPU_MODES,
)
from support.sampled import PROGRAM, Sampled, sampled

T = SampleType
WORDS = {
    T.ADDR: "addr",
    T.DATA_SRC: "data_src",
    T.TRANSACTION: "transaction",
    T.PHYS_ADDR: "phys_addr",
    T.CGROUP: "cgroup",
    T.DATA_PAGE_SIZE: "data_page_size",
    T.CODE_PAGE_SIZE: "code_page_size",
}
MARKERS = (CONTEXT_HV, CONTEXT_KERNEL, CONTEXT_USER)


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


def counted(one: Sample, attr: Attr, attrs: tuple[Attr, ...]) -> dict[str, int]:
    if T.READ not in attr.sample_type or one.counts is None:
        return {}
    times = {
        "time_enabled_ns": (READ_TIME_ENABLED, one.counts.enabled),
        "time_running_ns": (READ_TIME_RUNNING, one.counts.running),
    }
    found = {name: value for name, (bit, value) in times.items() if attr.read_format & bit}
    return found | {f"read:{attrs[event].name}": value for event, value, _ in one.counts.values}


def expected(one: Sample, attrs: tuple[Attr, ...]) -> dict[str, Any]:
    attr = attrs[one.where.event]
    kinds = attr.sample_type

    def where(bit: SampleType, value: Any) -> Any:
        return value if bit in kinds else None

    fixed = None if "freq" in attr.flags else attr.period
    chain, kernel = frames(one.callchain)
    row = {
        "time_ns": where(T.TIME, one.where.time),
        "cpu": where(T.CPU, one.where.cpu),
        "pid": where(T.TID, one.where.pid),
        "tid": where(T.TID, one.where.tid),
        "comm": where(T.TID, PROGRAM),
        "cpu_mode": one.mode,
        "ip": where(T.IP, one.ip),
        "period": one.period if T.PERIOD in kinds else fixed,
        "callchain": where(T.CALLCHAIN, chain),
        "kernel_frames": where(T.CALLCHAIN, kernel),
    }
    row |= {name: getattr(one, name) for bit, name in WORDS.items() if bit in kinds}
    return row | weights(one, kinds) | counted(one, attr, attrs)


def read(path: Path, attrs: tuple[Attr, ...]) -> dict[str, list[dict[str, Any]]]:
    capture = Capture(str(path))
    return {attr.name: rows(capture.samples(attr.name)) for attr in attrs}


@examples(60)
@given(sampled(), st.booleans())
def test_samples_say_what_was_described(fresh: Fresh, told: Sampled, pipe: bool) -> None:
    path = fresh() / "perf.data"
    path.write_bytes(told.write(pipe))
    wanted: dict[str, list[dict[str, Any]]] = {attr.name: [] for attr in told.attrs}
    for one in told.samples:
        wanted[told.attrs[one.where.event].name].append(expected(one, told.attrs))
    found = read(path, told.attrs)
    for name, rows_ in wanted.items():
        assert found[name] == rows_, (name, told.machine)


# The same description in another byte order or word size is the same table: nothing of it depends
# on which machine wrote it.
@examples(20)
@given(sampled(machines=st.just(X86_64)))
def test_every_machine_says_the_same(fresh: Fresh, told: Sampled) -> None:
    path = fresh() / "perf.data"
    found = []
    for machine in MACHINES.values():
        path.write_bytes(replace(told, machine=machine).write())
        found.append((read(path, told.attrs), Capture(str(path)).scan()["records"]))
    assert all(one == found[0] for one in found)


# perf 6.1 knows attrs of up to 128 bytes; what it prints of each field, it took from the bytes.
PERFS = 128
PRINTED = {
    T.IP: "ip",
    T.ADDR: "addr",
    T.DATA_SRC: "data_src",
    T.TRANSACTION: "transaction",
    T.PHYS_ADDR: "phys_addr",
}


def printed(one: Sample, told: Sampled) -> dict[str, Any]:
    attr = told.attrs[one.where.event]
    kinds = attr.sample_type
    row: dict[str, Any] = {"misc": CPU_MODES[one.mode], "time": one.where.time}
    if T.CPU in kinds:
        row["cpu"] = one.where.cpu
    if T.TID in kinds:
        row |= {"pid": one.where.pid, "tid": one.where.tid}
    row |= {name: getattr(one, name) for bit, name in PRINTED.items() if bit in kinds}
    if T.CALLCHAIN in kinds:
        row["callchain"] = list(one.callchain)
    if T.BRANCH_STACK in kinds:
        row["branches"] = [(branch.source, branch.target) for branch in one.branches]
    for bit, name, values in (
        (T.REGS_USER, "user_registers", one.user_registers),
        (T.REGS_INTR, "intr_registers", one.interrupt_registers),
    ):
        if bit in kinds and values:
            row[name] = list(values)
    if T.STACK_USER in kinds and one.user_stack:
        row["stack"] = len(one.user_stack)
    said = weights(one, kinds)
    # Of WEIGHT_STRUCT's third part it prints something else, except for one architecture.
    row |= {name: value for name, value in said.items() if name != "weight3"}
    times = {"time_enabled_ns", "time_running_ns"}
    return row | {k: v for k, v in counted(one, attr, told.attrs).items() if k in times}


# Without a time, perf prints its samples all the same, but in no line of this form; counts without
# the ids of their events it refuses.
TIMED = T.TIME | T.TID


def for_perf(one: Attr) -> Attr:
    return replace(one, sample_type=one.sample_type | TIMED, read_format=one.read_format | READ_ID)


@examples(20)
@given(sampled(without=T.AUX, largest=PERFS))
def test_perf_reads_what_was_described(fresh: Fresh, told: Sampled) -> None:
    told = replace(told, attrs=tuple(for_perf(one) for one in told.attrs))
    path = fresh() / "perf.data"
    path.write_bytes(told.write())
    wanted = [printed(one, told) for one in told.samples]
    found = [
        {name: value for name, value in seen.items() if name in one}
        for seen, one in zip(dumped_samples(path), wanted, strict=True)
    ]
    assert found == wanted
