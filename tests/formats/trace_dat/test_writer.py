# The writer itself is tested against trace-cmd: what a described timeline says is what trace-cmd
# reads from the bytes.

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from support.examples import examples
from support.host import Fresh
from support.narrator import recordings
from support.narrowed import narrowed
from support.perfdata import MACHINES, Machine, Recording, cpu, recording
from support.perfdata import happenings as h
from support.perfdata.formats import Common
from support.story import story
from support.tracedat import (
    Beside,
    Buffer,
    Dress,
    Packing,
    Style,
    version6,
    version7,
    write_trace_dat,
)
from support.tracedat import options as o
from support.tracedat import own_events as own
from support.tracedat.dresses import dresses, machines
from support.tracedat.names import names
from support.tracedat.report import Reported, contexts, number, report, trace_cmd

S = 1_000_000_000
every_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
NONE = Packing("none")
# trace-cmd reads zlib too, where it was built with it: this way of packing has no second opinion.
CONTAINERS = {
    "6": Dress(6),
    "7": Dress(7, NONE),
    "7 zstd": Dress(7),
    "7 zstd, pages by the one": Dress(7, Packing(chunk_pages=1)),
    "7 zstd, options too": Dress(7, Packing(options=True)),
    "7 zstd, options in many sections": Dress(7, Packing(options=True, options_each=1)),
    "7 zstd, headers only": Dress(7, Packing(buffers=False)),
    "7 zstd, buffers only": Dress(7, Packing(headers=False)),
    "6, clock as in 2.9": Dress(6, old_clock=True),
}
STYLES = {
    "plain": Style(),
    "every time extended": Style(every=True),
    "every time absolute": Style(stamps="absolute", every=True),
    "lengths in words": Style(wide=True),
    "many sub-buffers": Style(per_page=2),
    "rubbish behind the records": Style(rubbish=0xA5),
}
containers = pytest.mark.parametrize("dress", CONTAINERS.values(), ids=CONTAINERS)


def plain(value: Any) -> Any:
    return value if isinstance(value, str) else int(value) % 2**64


def described(told: Recording) -> list[tuple[object, ...]]:
    return sorted(
        (
            *(one.format.name, one.at, one.cpu, one.common.pid),
            sorted((name, plain(value)) for name, value in one.values.items()),
        )
        for one in told.events()
    )


def seen(reported: list[Reported], told: Recording) -> list[tuple[object, ...]]:
    texts = {field.name for one in told.formats for field in one.fields if field.is_text}

    def value(name: str, text: str) -> Any:
        return text if name in texts else number(text) % 2**64

    return sorted(
        (
            *(one.event, one.time, one.cpu, one.pid),
            sorted((name, value(name, text)) for name, text in one.fields.items()),
        )
        for one in reported
    )


def assert_told(told: Recording, dress: Dress, folder: Path) -> None:
    path = write_trace_dat(told, folder / "trace.dat", dress)
    assert seen(report(path, names(told.formats)), told) == described(told)


@containers
def test_trace_cmd_reads_what_was_described(tmp_path: Path, dress: Dress) -> None:
    for machine in MACHINES.values():
        told = replace(narrowed(story()), machine=machine)
        assert_told(told, dress, tmp_path)
        found = sorted(contexts(tmp_path / "trace.dat"))
        assert found == sorted(
            (one.at, one.cpu, one.common.flags, one.common.preempt_count) for one in told.events()
        )


# What trace-cmd 3.1 does not read: zlib where it was built without, padding that has no length (it
# reads on behind it), and a top buffer whose sub-buffers are not the file's pages.
def readable(dress: Dress) -> Dress:
    algorithm = "zstd" if dress.packing.algorithm == "zlib" else dress.packing.algorithm
    style = replace(dress.style, padded=False, page_size=dress.page_size)
    return replace(dress, packing=replace(dress.packing, algorithm=algorithm), style=style)


@examples(25)
@given(recordings(), dresses().map(readable), machines())
def test_trace_cmd_reads_any_timeline_in_any_dress(
    fresh: Fresh, told: Recording, dress: Dress, machine: Machine
) -> None:
    told = replace(narrowed(told), machine=machine)
    path = write_trace_dat(told, fresh() / "trace.dat", dress)
    found = [one for one in report(path, names(told.formats)) if not one.buffer]
    assert seen(found, told) == described(told)


# As many events as fill sub-buffers to their ends, of all lengths that have a header of their own,
# with pauses that 27 bits reach and that they do not.
def long_story(**settings: object) -> Recording:
    told: list[h.Happening] = []
    now = S
    for step in range(400):
        now += (1, 0, 100, (1 << 27) - 1, 1 << 27, 1 << 40)[step % 6]
        told += [h.SoftirqRaise(now, step % 10), h.Exec(now, "x" * (step % 130), "openssl")]
    return recording(cpu(0, *told), cpu(1, h.SoftirqRaise(S + 5, 3)), **settings)


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_every_record_type(tmp_path: Path, style: Style) -> None:
    for machine in MACHINES.values():
        assert_told(long_story(machine=machine), Dress(style=style), tmp_path)


def test_larger_pages(tmp_path: Path) -> None:
    for size in (8192, 65536):
        for dress in (Dress(6), Dress(7)):
            dress = replace(dress, page_size=size, style=Style(page_size=size))
            assert_told(long_story(), dress, tmp_path)


def test_records_that_were_given_back(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        assert_told(long_story(machine=machine), Dress(discard_each=2), tmp_path)


# The five highest bits of a time are no part of an absolute stamp.
def test_late_times(tmp_path: Path) -> None:
    for stamps in ("extend", "absolute"):
        for start in (1 << 58, (1 << 59) - 1, 1 << 59, (1 << 62) + 12345):
            raised = [h.SoftirqRaise(start + step, 1) for step in (0, 1, 1 << 30, 1 << 40)]
            assert_told(recording(cpu(0, *raised)), Dress(style=Style(stamps=stamps)), tmp_path)


# A clock that is not coherent: only an absolute stamp can go back.
def test_time_that_runs_backwards(tmp_path: Path) -> None:
    raised = [h.SoftirqRaise(S + step, 1) for step in (0, 1000, 500, 2000)]
    assert_told(recording(cpu(0, *raised)), Dress(), tmp_path)


def test_cpus_in_any_order_and_with_gaps(tmp_path: Path) -> None:
    for dress in CONTAINERS.values():
        for numbers in ((5, 2, 70), (1, 0), (3,)):
            cpus = [cpu(number, h.SoftirqRaise(S + number, 1)) for number in numbers]
            assert_told(recording(*cpus), dress, tmp_path)
            assert_told(recording(*cpus), replace(dress, rank=numbers.index), tmp_path)


# A sub-buffer says how many events are missing before it, that some are, or nothing.
@containers
def test_losses(tmp_path: Path, dress: Dress) -> None:
    for machine in MACHINES.values():
        raised = [h.SoftirqRaise(S + step, 1) for step in range(0, 50, 10)]
        lost = [h.Lost(S + 15, 7), h.Lost(S + 35, 70000)]
        told = recording(
            cpu(0, *sorted((*raised, *lost), key=lambda one: one.at)),
            cpu(1, h.SoftirqRaise(S + 5, 3)),
            machine=machine,
        )
        path = write_trace_dat(told, tmp_path / "trace.dat", dress)
        found = [(one.cpu, one.time - S, one.dropped) for one in report(path, names(told.formats))]
        assert found == [(0, 0, 0), (1, 5, 0), (0, 10, 0), (0, 20, 7), (0, 30, 0), (0, 40, 70000)]


def test_losses_of_unknown_number(tmp_path: Path) -> None:
    told = recording(cpu(0, h.SoftirqRaise(S, 1), h.Lost(S + 1, 3), h.SoftirqRaise(S + 2, 1)))
    dress = Dress(count_losses=False)
    path = write_trace_dat(told, tmp_path / "trace.dat", dress)
    assert [one.dropped for one in report(path, names(told.formats))] == [0, -1]


def test_instances(tmp_path: Path) -> None:
    for dress in CONTAINERS.values():
        other = recording(
            cpu(0, h.SoftirqRaise(S, 1), h.Lost(S + 1, 9), h.SoftirqRaise(S + 3, 2)),
            cpu(1, h.SoftirqRaise(S + 7, 3)),
        )
        third = recording(cpu(1, h.SoftirqRaise(S + 2000, 5)))
        told = story()
        dress = replace(dress, instances={"other": other, "third": third})
        path = write_trace_dat(told, tmp_path / "trace.dat", dress)
        found = report(path, names(told.formats))
        for name, one in {"": told, "other": other, "third": third}.items():
            assert seen([row for row in found if row.buffer == name], one) == described(one)
        assert [(row.buffer, row.time - S, row.dropped) for row in found if row.dropped] == [
            ("other", 3, 9)
        ]


# What `trace-cmd dump` lists it has understood.
def test_options(tmp_path: Path) -> None:
    dress = Dress(
        options=(
            *(o.date(0x123456), o.offset(-5)),
            *(o.proc_maps(500, "openssl", [(0x400000, 0x401000, "/usr/bin/openssl")]),),
            *(o.guest("guest", 0x42, {0: 600, 1: 601}), o.tsc2nsec(1, 0, 7)),
            *(o.time_shift(0x43, [[o.Compared(0, 0)], [o.Compared(0, 0), o.Compared(9, 0)]]),),
            *(o.cpu_stat(1, 12, 5, 3), o.stats_of("other")),
        ),
    )
    path = write_trace_dat(story(), tmp_path / "trace.dat", dress)
    said = trace_cmd("dump", "--all", "-i", path)
    for line in (
        *("zstd	[Compression algorithm]", '"mono" [clock]', "Linux described 6.18.0 x86_64"),
        *("3.1.6 described", "0x123456", "-5"),
        *("guest", "0x42", "overrun: 5", "dropped events: 3", "Buffer: other", "[Option CPUCOUNT"),
        *("400000 401000 /usr/bin/openssl", "500 openssl", "20 ksoftirqd/0"),
    ):
        assert line in said, line
    assert len(report(path, names(story().formats))) == len(story().events())
    hook = o.hook("sched:sched_switch,next_pid/sched:sched_wakeup,pid,pinned")
    write_trace_dat(story(), path, Dress(options=(hook,)))
    assert str(hook.parts[0]) in trace_cmd("dump", "--all", "-i", path)


# Time is multiplied first, and what belongs on it added then.
def test_times_that_options_change(tmp_path: Path) -> None:
    told = recording(cpu(0, h.SoftirqRaise(S, 1)))

    def shown(*options: o.Option, more: tuple[str, ...] = ()) -> int:
        path = write_trace_dat(told, tmp_path / "trace.dat", Dress(options=options))
        [one] = report(path, names(told.formats), *more)
        return one.time - S

    assert shown(o.date(5)) == 5000
    assert shown(o.date(5), more=("--nodate",)) == 0
    assert shown(o.date(5), o.offset(7), o.offset(-20)) == 4987
    assert shown(o.tsc2nsec(3, 1), o.offset(7)) == S // 2 + 7
    assert shown(o.time_shift(1, [[o.Compared(0, 100)]])) == 100
    assert shown(o.time_shift(1, [[o.Compared(0, 100)]], fractions=False)) == 100


def test_the_text_of_a_latency_tracer(tmp_path: Path) -> None:
    for dress in (Dress(6), Dress(7), Dress(7, NONE)):
        text = "# tracer: irqsoff\n#\n" + "  openssl-500  0d.h1.  10us : softirq_raise\n" * 3000
        contents = replace(dress.contents(story()), buffers=(Buffer(clock="local", text=text),))
        packing = (version7.write(contents, dress.packing), version6.write(contents))
        path = tmp_path / "trace.dat"
        path.write_bytes(packing[dress.version == 6])
        assert trace_cmd("report", "-i", path).partition("\n")[2].rstrip("\n") == text.rstrip("\n")


# A stack as deep as it is, not as the format says; text to the end of the record.
def test_own_events(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        chain, common = [0x80001000, 0x80002000, 0x80003000], Common(1, 1, 500)
        beside = (
            Beside(0, S + 1101, own.KERNEL_STACK, {"size": 3, "caller": chain}, common),
            Beside(0, S + 1102, own.PRINT, {"ip": 0x80001000, "buf": "a mark\n\0"}, common),
            Beside(1, S, own.FUNCTION, {"ip": 1, "parent_ip": 2, "args": []}, common),
        )
        told = replace(narrowed(story()), machine=machine)
        dress = Dress(own_formats=own.OWN, beside=beside)
        path = write_trace_dat(told, tmp_path / "trace.dat", dress)
        found = report(path, names(own.OWN))
        assert len(found) == len(told.events()) + 3
        assert found[0].event == "function"
        stack, mark = (one for one in found if one.time - S in (1101, 1102))
        assert (stack.event, stack.fields["size"]) == ("kernel_stack", "3")
        assert mark.event == "print"
        said = trace_cmd("report", "-i", path)
        assert "a mark" in said
        assert [line for line in said.splitlines() if "=> 8000" in line] == [
            f"=> {address:x}" for address in chain
        ]
