# Records beside the samples: read where they say something, walked over where they do not, in every
# byte order, with and without the sample_id that ends them.

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis._native import Capture
from support.examples import examples
from support.host import Fresh, require_tool
from support.native_tables import rows
from support.oracle import run
from support.perfdata import (
    MACHINES,
    X86_64,
    Attr,
    Auxtrace,
    Comm,
    Common,
    Counts,
    FinishedRound,
    Fork,
    Header,
    Machine,
    Mmap,
    Mmap2,
    Other,
    Record,
    Sample,
    SampleType,
    Throttle,
    Where,
    write_file,
    write_pipe,
)
from support.perfdata import tracepoints as t
from support.perfdata.attr import TYPE_HARDWARE
from support.perfdata.records import (
    Aux,
    AuxOutputHardwareId,
    BpfEvent,
    CallchainDeferred,
    Cgroup,
    ItraceStart,
    KernelSymbol,
    Lost,
    LostSamples,
    Namespaces,
    Read,
    Switch,
    TextPoke,
)
from support.perfdata.synthesised import BuildId, FinishedInit, IdIndex

T = SampleType
KINDS = T.IP | T.TID | T.TIME | T.CPU
ALL_IDS = frozenset({"sample_id_all"})
machines = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
HERE = Where(1, 77, 500, 501)
KERNEL = 0xFFFFFFFF81000000


def attr(flags: frozenset[str] = ALL_IDS, kinds: SampleType = KINDS) -> Attr:
    return Attr("cycles", 0, (10,), TYPE_HARDWARE, kinds, flags=flags)


def capture(
    path: Path, machine: Machine, *records: Record | Sample, one: Attr | None = None
) -> Capture:
    told = [*records, FinishedRound()]
    (path / "perf.data").write_bytes(write_file([one or attr()], [], told, machine=machine))
    return Capture(str(path / "perf.data"))


# One of every kind, some of odd sizes, and how often each is in the file.
EVERYTHING: list[Record | Sample] = [
    Mmap(-1, KERNEL, 0xC00000, "[kernel.kallsyms]_text", HERE, tid=-1, mode="kernel"),
    Lost(0, 5, HERE),
    Comm(500, 501, "a-name-of-15-ch", HERE),
    Fork(600, 500, 600, 500, 70, HERE),
    Fork(600, 500, 600, 500, 71, HERE, exits=True),
    Throttle(HERE),
    Throttle(HERE, unthrottle=True),
    Read(HERE, Counts(((0, 12345, 0),))),
    Mmap2(500, 0x400000, 4096, "/usr/bin/openssl", HERE),
    Aux(0, 4096, 1, HERE),
    ItraceStart(HERE),
    LostSamples(5, HERE),
    Switch(HERE, out=True),
    Switch(HERE, other=(600, 601)),
    Namespaces(tuple((4, 4026531840 + place) for place in range(7)), HERE),
    KernelSymbol(0xFFFFFFFFC0001000, 300, "bpf_prog_6deef7357e7b4530_count", where=HERE),
    BpfEvent(42, where=HERE),
    Cgroup(4711, "/system.slice/sshd.service", HERE),
    TextPoke(KERNEL + 0x123, b"\x0f\x1f\x44\x00\x00", b"\xe9\x01\x02\x03\x04", HERE),
    BuildId(-1, bytes(range(20)), "[kernel.kallsyms]"),
    IdIndex(((10, 0, 1, -1 % 2**64),)),
    Auxtrace(b"\x09\x00\x00\x00\x00\x00\x40\x00" * 33),
]
# What perf 6.1 does not know, with the same.
NEWER: list[Record | Sample] = [
    AuxOutputHardwareId(3, HERE),
    CallchainDeferred(9, (0x400000, 0x400010), HERE),
    FinishedInit(),
    Other(200, b"\xff" * 24),
    Other(63, b""),
]
NAMES = (
    *("MMAP", "LOST", "COMM", "FORK", "EXIT", "THROTTLE", "UNTHROTTLE", "READ", "MMAP2", "AUX"),
    *("ITRACE_START", "LOST_SAMPLES", "SWITCH", "SWITCH_CPU_WIDE", "NAMESPACES", "KSYMBOL"),
    *("BPF_EVENT", "CGROUP", "TEXT_POKE", "HEADER_BUILD_ID", "ID_INDEX", "AUXTRACE"),
)
NEWER_NAMES = ("AUX_OUTPUT_HW_ID", "CALLCHAIN_DEFERRED", "FINISHED_INIT")


def test_every_record_is_counted_by_its_name(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        for flags in (ALL_IDS, frozenset()):
            told = [*EVERYTHING, Sample(HERE), *NEWER, Sample(HERE), *EVERYTHING]
            found = capture(tmp_path, machine, *told, one=attr(flags)).scan()["records"]
            assert {name: found[name] for name in NAMES} == dict.fromkeys(NAMES, 2)
            assert {name: found[name] for name in NEWER_NAMES} == dict.fromkeys(NEWER_NAMES, 1)
            assert found["SAMPLE"] == 2
            # Two of a type that nobody has named, and the end.
            assert sum(found.values()) == len(told) + 1


PRINTED = re.compile(r"^(-?\d+ -?\d+) 0x\w+ \[0x\w+\]: PERF_RECORD_(\w+)(.*)$", re.MULTILINE)


# (CPU and time, record, what it says), as perf prints it.
def dumped(path: Path) -> Counter[tuple[str, ...]]:
    output = run(require_tool("perf"), "report", "-f", "-D", "-i", path)
    return Counter((where, kind, text.strip()) for where, kind, text in PRINTED.findall(output))


# The writer's records are what perf takes them for. Left out is what perf 6.1 makes of a foreign
# byte order: it turns KSYMBOL and BPF_EVENT around not at all, the protection of MMAP2 neither, and
# of READ more than there is. Behind AUXTRACE it wants an AUXTRACE_INFO.
def test_perf_knows_every_record(tmp_path: Path) -> None:
    path, foreign = tmp_path / "perf.data", (Read, KernelSymbol, BpfEvent, Mmap2)
    for order in "<>":
        alike = [one for one in MACHINES.values() if one.order == order or one is X86_64]
        for flags in (ALL_IDS, frozenset()):
            unread = (Auxtrace, *(foreign if order == ">" else ()))
            told = [one for one in EVERYTHING if not isinstance(one, unread)]
            found = []
            for machine in alike:
                path.write_bytes(
                    write_file([attr(flags)], [], [*told, FinishedRound()], machine=machine)
                )
                found.append(dumped(path))
            assert all(one == found[0] for one in found)
            kinds = {NAMES[EVERYTHING.index(one)].removeprefix("HEADER_") for one in told}
            assert {kind for _, kind, _ in found[0]} == kinds | {"FINISHED_ROUND"}
            said = {kind: text for _, kind, text in found[0]}
            assert said["COMM"] == ": a-name-of-15-ch:500/501"
            assert said["CGROUP"] == "cgroup: 4711 /system.slice/sshd.service"
            assert said["SWITCH_CPU_WIDE"].endswith("600/601")
            assert said["NAMESPACES"].endswith(" nr_namespaces: 7")
            assert said["AUX"].split()[1::2][:3] == ["0", "0x1000", "0x1"]
            assert {where for where, kind, _ in found[0] if kind == "FORK"} == {
                "1 77" if flags else "-1 -1"
            }


# Everything else in the file stays what it was.
def test_samples_are_found_between_any_records(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        told: list[Record | Sample] = []
        for place, one in enumerate([*EVERYTHING, *NEWER]):
            told += [one, Sample(Where(1, 100 + place, 500, 501), ip=place)]
        found = rows(capture(tmp_path, machine, *told).samples("cycles"))
        assert [row["ip"] for row in found] == list(range(len(told) // 2))
        assert [row["time_ns"] for row in found] == [100 + place for place in range(len(told) // 2)]


MAPPINGS: list[Record] = [
    Mmap(-1, KERNEL, 0xC00000, "[kernel.kallsyms]_text", HERE, -1, KERNEL, "kernel"),
    Mmap(500, 0x400000, 4096, "/usr/bin/openssl", HERE, 501, 8192),
    Mmap(500, 0x7F0000000000, 2**40, "//anon", HERE, 501, executable=False),
    Mmap2(500, 0x500000, 8192, "/lib/libc.so.6", HERE, 501, 2**33),
    Mmap2(500, 0x600000, 8192, "/lib/é.so", HERE, 501, executable=False),
    Mmap2(500, 0x700000, 8192, "/lib/libm.so.6", HERE, 501, build_id=bytes(range(20))),
    Mmap2(500, 0x800000, 8192, "/lib/md5.so", HERE, 501, build_id=bytes(range(16))),
    Mmap2(700, 0xC0000000, 8192, "/guest", HERE, mode="guest user"),
    # Of a recorder beside one that asked for build ids: what stands there is a device and an inode.
    *(
        Mmap2(500, 0x900000, 4096, f"/bin/{major}", HERE, identity=numbers, is_mistaken=True)
        for numbers in ((254, 0, 18500, 0), (8, 1, 99, 7), (259, 1, 2**33, 0), (0, 33, 4, 1))
        for major in numbers[:1]
    ),
]


def mapped(one: Mmap, timed: bool) -> dict[str, Any]:
    build_id = one.build_id.hex() if isinstance(one, Mmap2) and one.build_id else None
    return {
        "time_ns": one.where.time if timed else None,
        "pid": one.pid,
        "tid": one.pid if one.tid is None else one.tid,
        "address": one.address,
        "length": one.length,
        "page_offset": one.page_offset,
        "filename": one.filename,
        "executable": one.executable,
        "build_id": build_id,
        "cpu_mode": one.mode,
    }


def test_mappings_say_what_was_described(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        for timed in (True, False):
            flags = ALL_IDS if timed else frozenset()
            found = capture(tmp_path, machine, *MAPPINGS, one=attr(flags)).mappings()
            wanted = [mapped(one, timed) for one in MAPPINGS if isinstance(one, Mmap)]
            assert rows(found) == wanted


NAME = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), max_size=30)


# The tail's place is found whatever the name's length.
@examples(40)
@given(NAME, st.sampled_from(list(MACHINES.values())), st.booleans())
def test_names_of_any_length(fresh: Fresh, name: str, machine: Machine, id_all: bool) -> None:
    path = fresh()
    told: tuple[Record, ...] = (
        Mmap(500, 1, 2, name, HERE),
        Mmap2(500, 1, 2, name, HERE),
        KernelSymbol(1, 2, name, where=HERE),
    )
    found = capture(path, machine, *told, one=attr(ALL_IDS if id_all else frozenset()))
    time = HERE.time if id_all else None
    named = [(row["filename"], row["time_ns"]) for row in rows(found.mappings())]
    assert named == [(name, time)] * 2
    [symbol] = rows(found.kernel_symbols())
    assert (symbol["name"], symbol["time_ns"]) == (name, time)


SYMBOLS: list[Record] = [
    KernelSymbol(0xFFFFFFFFC0001000, 300, "bpf_prog_6deef7357e7b4530_count", where=HERE),
    KernelSymbol(0xFFFFFFFFC0002000, 4096, "kprobe_insn_page", kind=2, where=HERE),
    KernelSymbol(0xFFFFFFFFC0003000, 2**32 - 1, "later", kind=9, where=HERE),
    KernelSymbol(0xFFFFFFFFC0001000, 300, "bpf_prog_6deef7357e7b4530_count", 1, True, HERE),
]


def test_kernel_symbols_say_what_was_described(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        names = {1: "bpf", 2: "out of line", 9: "unknown"}
        wanted = [
            {
                "time_ns": one.where.time,
                "address": one.address,
                "length": one.length,
                "kind": names[one.kind],
                "unregistered": one.unregistered,
                "name": one.name,
            }
            for one in SYMBOLS
            if isinstance(one, KernelSymbol)
        ]
        assert rows(capture(tmp_path, machine, *SYMBOLS).kernel_symbols()) == wanted


# perf wrote the kernel's symbols into the tracing data until 4.x.
def test_kallsyms_come_from_the_tracing_data(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        for write in (write_file, write_pipe):
            text = "ffffffff81000000 T _text\nffffffffa0001000 t nf_hook\t[nf_conntrack]\n"
            one = t.SOFTIRQ_ENTRY
            for kallsyms in (text, ""):
                header = Header(kallsyms=kallsyms, tracing_version="0.5")
                told = [
                    Sample(HERE, one.pack({"vec": 3}, Common(pid=501), machine)),
                    FinishedRound(),
                ]
                path = tmp_path / "perf.data"
                path.write_bytes(
                    write([Attr(one.event, one.id, (10,))], [one], told, header, machine)
                )
                found = Capture(str(path))
                assert found.kallsyms() == (kallsyms or None)
                assert [row["vec"] for row in rows(found.events(one.event))] == [3]
