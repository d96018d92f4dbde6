# Records beside the samples, as perf has them too, and what the tracing data says beside formats.
# What is read of records: native/tests/formats/perf_data/records.rs.

import re
from collections import Counter
from pathlib import Path

from netcost_analysis._native import Capture
from support.host import require_tool
from support.native_tables import rows
from support.oracle import run
from support.perfdata import (
    MACHINES,
    X86_64,
    Attr,
    Comm,
    Common,
    Counts,
    FinishedRound,
    Fork,
    Header,
    Mmap,
    Mmap2,
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
    BpfEvent,
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
from support.perfdata.synthesised import BuildId, IdIndex

T = SampleType
KINDS = T.IP | T.TID | T.TIME | T.CPU
ALL_IDS = frozenset({"sample_id_all"})
HERE = Where(1, 77, 500, 501)
KERNEL = 0xFFFFFFFF81000000


def attr(flags: frozenset[str] = ALL_IDS, kinds: SampleType = KINDS) -> Attr:
    return Attr("cycles", 0, (10,), TYPE_HARDWARE, kinds, flags=flags)


# One of every kind, some of odd sizes.
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
]
NAMES = (
    *("MMAP", "LOST", "COMM", "FORK", "EXIT", "THROTTLE", "UNTHROTTLE", "READ", "MMAP2", "AUX"),
    *("ITRACE_START", "LOST_SAMPLES", "SWITCH", "SWITCH_CPU_WIDE", "NAMESPACES", "KSYMBOL"),
    *("BPF_EVENT", "CGROUP", "TEXT_POKE", "HEADER_BUILD_ID", "ID_INDEX"),
)
PRINTED = re.compile(r"^(-?\d+ -?\d+) 0x\w+ \[0x\w+\]: PERF_RECORD_(\w+)(.*)$", re.MULTILINE)


# (CPU and time, record, what it says), as perf prints it.
def dumped(path: Path) -> Counter[tuple[str, ...]]:
    output = run(require_tool("perf"), "report", "-f", "-D", "-i", path)
    return Counter((where, kind, text.strip()) for where, kind, text in PRINTED.findall(output))


# The writer's records are what perf takes them for. Left out is what perf 6.1 makes of a foreign
# byte order: it turns KSYMBOL and BPF_EVENT around not at all, the protection of MMAP2 neither, and
# of READ more than there is.
def test_perf_knows_every_record(tmp_path: Path) -> None:
    path, foreign = tmp_path / "perf.data", (Read, KernelSymbol, BpfEvent, Mmap2)
    for order in "<>":
        alike = [one for one in MACHINES.values() if one.order == order or one is X86_64]
        for flags in (ALL_IDS, frozenset()):
            unread = foreign if order == ">" else ()
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
