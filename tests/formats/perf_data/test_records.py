# What tables say of a capture's records beyond their bytes, and the records beside samples as perf
# has them. What is read of records: native/tests/formats/perf_data/records.rs.

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from netcost_analysis._native import Capture
from support.host import Fresh, require_tool
from support.native_tables import rows
from support.oracle import perf_handler, perf_record_counts, perf_script_counts, run
from support.perfdata import (
    MACHINES,
    X86_64,
    Attr,
    Common,
    FinishedRound,
    Header,
    Sample,
    SampleType,
    Where,
    cpu,
    recording,
    write_file,
    write_pipe,
)
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.perfdata.attr import TYPE_HARDWARE
from support.perfdata.timeline import narrowed
from support.small_captures import one_of_each
from support.story import S, described, seen, story
from support.told import OPENSSL, UDPSINK

T = SampleType
ALL_IDS = frozenset({"sample_id_all"})
HERE = Where(1, 77, 500, 501)
# What perf 6.1 makes of a foreign byte order: it turns KSYMBOL and BPF_EVENT around not at all, the
# protection of MMAP2 neither, and of READ more than there is.
NOT_TURNED = ("READ", "KSYMBOL", "BPF_EVENT", "MMAP2")
PRINTED = re.compile(r"^(-?\d+ -?\d+) 0x\w+ \[0x\w+\]: PERF_RECORD_(\w+)(.*)$", re.MULTILINE)


# (CPU and time, record, what it says), as perf prints it.
def dumped(path: Path) -> Counter[tuple[str, ...]]:
    output = run(require_tool("perf"), "report", "-f", "-D", "-i", path)
    return Counter((where, kind, text.strip()) for where, kind, text in PRINTED.findall(output))


# The writer's records are what perf takes them for.
def test_perf_knows_every_record(tmp_path: Path) -> None:
    path, kinds = tmp_path / "perf.data", T.IP | T.TID | T.TIME | T.CPU
    for order in "<>":
        unread = NOT_TURNED if order == ">" else ()
        told = {name: one for name, one in one_of_each(HERE).items() if name not in unread}
        for flags in (ALL_IDS, frozenset()):
            attr = Attr("cycles", 0, (10,), TYPE_HARDWARE, kinds, flags=flags)
            found = []
            for machine in MACHINES.values():
                if machine.order == order or machine is X86_64:
                    records = [*told.values(), FinishedRound()]
                    path.write_bytes(write_file([attr], [], records, machine=machine))
                    found.append(dumped(path))
            assert all(one == found[0] for one in found)
            assert {kind for _, kind, _ in found[0]} == {*told, "FINISHED_ROUND"}
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
    text = "ffffffff81000000 T _text\nffffffffa0001000 t nf_hook\t[nf_conntrack]\n"
    path, one = tmp_path / "perf.data", t.SOFTIRQ_ENTRY
    attr = Attr(one.event, one.id, (10,))
    for machine in MACHINES.values():
        told = [Sample(HERE, one.pack({"vec": 3}, Common(), machine)), FinishedRound()]
        for write in (write_file, write_pipe):
            for kallsyms in (text, ""):
                header = Header(kallsyms=kallsyms, tracing_version="0.5")
                path.write_bytes(write([attr], [one], told, header, machine))
                found = Capture(str(path))
                assert found.kallsyms() == (kallsyms or None)
                assert [row["vec"] for row in rows(found.events(one.event))] == [3]


# Softirq numbers are named by the recorded print format, not by this year's kernel.
def test_actions_come_from_the_recorded_print_format(tmp_path: Path) -> None:
    old = [
        replace(one, print_fmt=one.print_fmt.replace('"IRQ_POLL"', '"BLOCK_IOPOLL"'))
        for one in t.FORMATS
    ]
    told = (h.SoftirqEntry(10, 5), h.SoftirqExit(20, 5), h.Waking(30, UDPSINK))
    path = recording(cpu(0, *told, task=OPENSSL), formats=tuple(old)).write(tmp_path / "perf.data")
    [row] = rows(Capture(str(path)).timeline(["softirqs"])["tables"]["softirqs"])
    assert (row["vec"], row["action"]) == (5, "BLOCK_IOPOLL")


# Counted natively, and on the table of the same events.
def test_events_are_counted_by_cpu_and_field_in_windows(tmp_path: Path) -> None:
    busy = [h.SoftirqEntry(1_000, 3), h.SoftirqExit(2_000, 3), h.SoftirqEntry(2_500, 1)]
    busy += [h.SoftirqExit(2_700, 1), h.NapiPoll(2_800, work=7), h.Waking(3_000, UDPSINK)]
    told = recording(cpu(0, *busy, task=OPENSSL), cpu(1, *busy[:2], task=UDPSINK))
    capture = Capture(str(told.write(tmp_path / "perf.data")))
    entry, windows = "irq:softirq_entry", [(0, 1_000), (1_001, 9_000), (1_000, 2_500), (9, 8)]
    wanted = [
        ([entry], "vec", None, windows),
        ([entry, "irq:softirq_exit"], None, None, windows),
        (["napi:napi_poll"], None, "work", windows),
        ([entry], "no_such_field", None, windows),
        (["napi:napi_poll"], "dev_name", None, windows),
        ([entry], "vec", None, []),
    ]
    by_vector, together, packets, *none, empty = capture.counts(wanted)
    assert (none, empty) == ([None, None], [])
    table = rows(capture.events(entry))
    assert by_vector == [
        Counter((row["common_cpu"], row["vec"]) for row in table if start <= row["time_ns"] <= end)
        for start, end in windows
    ]
    assert by_vector[0] == {(0, 3): 1, (1, 3): 1}
    assert together[1] == {(0, 0): 3, (1, 0): 1}
    assert packets == [{}, {(0, 0): 7}, {}, {}]


# The writer itself is tested against perf: what a described timeline says is what perf reads from
# the bytes.


# In pipes of foreign byte order perf 6.1 turns words around, but does not tell its events so: two
# halves of a word stay exchanged, and it refuses the first payload.
@pytest.mark.parametrize(
    ("mode", "compressed"),
    [("file", 0), ("file", 1), ("version 1", 0), ("directory", 0), ("pipe", 0), ("pipe", 1)],
)
def test_perf_reads_what_was_described(fresh: Fresh, mode: str, compressed: int) -> None:
    alike = mode == "pipe" or compressed
    for machine in [MACHINES["x86_64"]] if alike else MACHINES.values():
        folder = fresh()
        told = replace(narrowed(story()), machine=machine, attr_size=104)
        path = told.write(folder / "perf.data", mode, compressed)
        assert seen(perf_handler(path, folder)) == described(told)


def test_perf_reads_old_formats(tmp_path: Path) -> None:
    old = {
        one.event: one for one in (t.NAPI_POLL_OLD, t.SCHED_WAKEUP_OLD, t.SCHED_MIGRATE_TASK_OLD)
    }
    told = story(formats=tuple(old.get(one.event, one) for one in t.FORMATS))
    events = perf_handler(told.write(tmp_path / "perf.data"), tmp_path)
    polls = [one.fields for one in events if one.event == "napi:napi_poll"]
    assert [one["dev_name"] for one in polls] == ["eth0", "eth1"]
    assert all("work" not in one for one in polls)
    assert [one.fields["success"] for one in events if one.event == "sched:sched_wakeup"] == [1]


def test_perf_counts_the_losses_and_repeats_that_were_described(tmp_path: Path) -> None:
    told = [h.SoftirqRaise(S, 3), h.SoftirqRaise(S + 1, 1), h.Flush(S + 2, repeat=1)]
    told += [h.SoftirqRaise(S + 3, 9), h.Lost(S + 4, 7)]
    path = recording(cpu(0, *told)).write(tmp_path / "perf.data")
    records = perf_record_counts(path)
    assert perf_script_counts(path) == {"irq:softirq_raise": 4}
    assert (records["PERF_RECORD_LOST"], records["PERF_RECORD_LOST_SAMPLES"]) == (1, 1)
    assert records["PERF_RECORD_FINISHED_ROUND"] == 2


def test_perf_reads_the_header(tmp_path: Path) -> None:
    path = story().write(tmp_path / "perf.data")
    output = run(require_tool("perf"), "report", "--header-only", "-i", path)
    said = ("hostname : described", "os release : 6.18.0", "perf version : 6.1.187")
    for part in (*said, "nrcpus online : 2", "clockid: monotonic (1)", "perf record -a"):
        assert part in output
