# A described timeline in every dress that trace-cmd has for it: this reader, trace-cmd and (of the
# ledger's tables) perf's recording of the same say what was described. What headers say:
# native/tests/formats/trace_dat/buffers.rs.

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis._native import Capture
from support.host import Fresh, examples
from support.narrator import recordings
from support.native_tables import rows
from support.perfdata import MACHINES, Machine, Recording, cpu, recording
from support.perfdata import happenings as h
from support.perfdata.formats import Common
from support.perfdata.timeline import narrowed
from support.story import story
from support.tracedat import Beside, Dress, Style, write_trace_dat
from support.tracedat import options as o
from support.tracedat import own_events as own
from support.tracedat.dresses import (
    LOSSES,
    assert_same,
    dresses,
    losing,
    machines,
    tables,
    with_gaps,
    without_repeats,
)
from support.tracedat.report import contexts, names, number, report, trace_cmd

S = 1_000_000_000
STYLES = {
    "plain": Dress(),
    "every time extended": Dress(style=Style(every=True)),
    "every time absolute": Dress(style=Style(stamps="absolute", every=True)),
    "lengths in words": Dress(style=Style(wide=True)),
    "many sub-buffers": Dress(style=Style(per_page=2)),
    "rubbish behind the records": Dress(style=Style(rubbish=0xA5)),
    "records given back": Dress(discard_each=2),
    "large pages": Dress(6, style=Style(65536), page_size=65536),
}


# What trace-cmd 3.1 does not read: zlib where it was built without, padding that has no length (it
# reads on behind it), and a top buffer whose sub-buffers are not the file's pages.
def is_readable(dress: Dress) -> bool:
    zlib = dress.version == 7 and dress.packing.algorithm == "zlib"
    return not zlib and not dress.style.padded and dress.style.page_size == dress.page_size


Told = list[tuple[object, ...]]


def plain(value: Any) -> Any:
    return value if isinstance(value, str) else int(value) % 2**64


def described(told: Recording) -> Told:
    return sorted(
        (
            *(one.format.name, one.at, one.cpu, one.common.pid),
            sorted((name, plain(value)) for name, value in one.values.items()),
        )
        for one in told.events()
    )


def read(path: Path, told: Recording) -> Told:
    fields = names(told.formats)
    return sorted(
        (
            *(event.split(":")[1], row["time_ns"], row["common_cpu"], row["common_pid"]),
            sorted((name, plain(row[name])) for name in fields[event.split(":")[1]]),
        )
        for event, table in Capture(str(path)).all_events().items()
        for row in rows(table)
    )


def reported(path: Path, told: Recording, buffer: str = "") -> Told:
    texts = {field.name for one in told.formats for field in one.fields if field.is_text}

    def value(name: str, text: str) -> Any:
        return text if name in texts else number(text) % 2**64

    return sorted(
        (
            *(one.event, one.time, one.cpu, one.pid),
            sorted((name, value(name, text)) for name, text in one.fields.items()),
        )
        for one in report(path, names(told.formats))
        if one.buffer == buffer
    )


def assert_told(told: Recording, dress: Dress, folder: Path) -> Path:
    path = write_trace_dat(told, folder / "trace.dat", dress)
    assert read(path, told) == described(told)
    if is_readable(dress):
        assert reported(path, told) == described(told)
    return path


# Whatever was drawn: events as described, answers as of perf's recording.
@examples(40)
@given(
    st.sampled_from([False, False, True]).flatmap(recordings),
    *(dresses(), machines(), LOSSES, st.sampled_from([1, 1, 3])),
)
def test_a_timeline_is_the_same_from_perf_and_from_trace_cmd(
    fresh: Fresh,
    told: Recording,
    dress: Dress,
    machine: Machine,
    losses: list[tuple[int, int]],
    step: int,
) -> None:
    folder = fresh()
    told = with_gaps(narrowed(without_repeats(told)), step)
    told = replace(told, cpus=tuple(losing(one, losses) for one in told.cpus))
    wanted = tables(told.write(folder / "perf.data"))
    path = assert_told(replace(told, machine=machine), dress, folder)
    if is_readable(dress) and not dress.instances:
        assert sorted(contexts(path)) == sorted(
            (one.at, one.cpu, one.common.flags, one.common.preempt_count) for one in told.events()
        )
    assert_same(tables(path), wanted)


# Events of all lengths that have a header of their own and of some that do not, with pauses that 27
# bits reach and that they do not; as many as fill sub-buffers to their ends.
@pytest.mark.parametrize("dress", STYLES.values(), ids=STYLES)
def test_records_of_every_kind(tmp_path: Path, dress: Dress) -> None:
    told: list[h.Happening] = []
    now = S
    for step in range(400):
        now += (1, 0, 100, (1 << 27) - 1, 1 << 27, (1 << 27) + 1, 1 << 32, 1 << 40)[step % 8]
        name = "x" * (1000 if step % 100 == 99 else step % 130)
        told += [h.SoftirqRaise(now, step % 10), h.Exec(now, name, "openssl")]
    for machine in MACHINES.values():
        lanes = cpu(0, *told), cpu(1, h.SoftirqRaise(S + 5, 3))
        path = assert_told(recording(*lanes, machine=machine), dress, tmp_path)
        assert Capture(str(path)).scan()["notes"] == []


# What `trace-cmd dump` lists it has understood.
def test_trace_cmd_reads_every_option(tmp_path: Path) -> None:
    dress = Dress(
        options=(
            *(o.date(0x123456), o.offset(-5)),
            *(o.proc_maps(500, "openssl", [(0x400000, 0x401000, "/usr/bin/openssl")]),),
            *(o.guest("guest", 0x42, {0: 600, 1: 601}), o.tsc2nsec(1, 0, 7)),
            *(o.time_shift(0x43, [[o.Compared(0, 0)], [o.Compared(0, 0), o.Compared(9, 0)]]),),
            *(o.cpu_stat(1, 12, 5, 3), o.stats_of("other")),
            o.hook("sched:sched_switch,next_pid/sched:sched_wakeup,pid,pinned"),
        ),
    )
    path = write_trace_dat(story(), tmp_path / "trace.dat", dress)
    said = trace_cmd("dump", "--all", "-i", path)
    for line in (
        *("zstd\t[Compression algorithm]", '"mono" [clock]', "Linux described 6.18.0 x86_64"),
        *("3.1.6 described", "0x123456", "-5", str(dress.options[-1].parts[0])),
        *("guest", "0x42", "overrun: 5", "dropped events: 3", "Buffer: other", "[Option CPUCOUNT"),
        *("400000 401000 /usr/bin/openssl", "500 openssl", "20 ksoftirqd/0"),
    ):
        assert line in said, line


# A stack as deep as it is, not as the format says; text to the end of the record.
def test_trace_cmd_reads_own_events(tmp_path: Path) -> None:
    chain, common = [0x80001000, 0x80002000, 0x80003000], Common(1, 1, 500)
    beside = (
        Beside(0, S + 1101, own.KERNEL_STACK, {"size": 3, "caller": chain}, common),
        Beside(0, S + 1102, own.PRINT, {"ip": 0x80001000, "buf": "a mark\n\0"}, common),
        Beside(1, S, own.FUNCTION, {"ip": 1, "parent_ip": 2, "args": []}, common),
    )
    for machine in MACHINES.values():
        told = replace(narrowed(story()), machine=machine)
        dress = Dress(own_formats=own.OWN, beside=beside)
        path = write_trace_dat(told, tmp_path / "trace.dat", dress)
        found = report(path, names(own.OWN))
        assert len(found) == len(told.events()) + 3
        of_own = [one for one in found if one.time - S in (0, 1101, 1102)]
        assert [one.event for one in of_own] == ["function", "kernel_stack", "print"]
        assert of_own[1].fields["size"] == "3"
        said = trace_cmd("report", "-i", path)
        assert "a mark" in said
        assert [line for line in said.splitlines() if "=> 8000" in line] == [
            f"=> {address:x}" for address in chain
        ]
