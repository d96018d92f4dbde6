# One timeline, recorded by perf and by trace-cmd in any dress: the answers are the same. And the
# slow ledger says the same of what trace-cmd recorded.

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis._native import Capture
from support.examples import examples
from support.host import Fresh
from support.narrator import recordings
from support.narrowed import narrowed
from support.native_tables import Answer, assert_conserved
from support.perfdata import MACHINES, Cpu, Machine, Recording
from support.perfdata import happenings as h
from support.reference_checks import check_polls, check_segments, check_slices, check_softirqs
from support.reference_ledger import reference
from support.story import story
from support.tracedat import Dress, Packing, Style, write_trace_dat
from support.tracedat.dresses import dresses, machines, with_gaps
from support.tracedat.told_twice import LOSSES, assert_same, losing, tables, without_repeats


@examples(40)
@given(recordings(), dresses(), machines(), LOSSES, st.sampled_from([1, 1, 3]))
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
    path = write_trace_dat(replace(told, machine=machine), folder / "trace.dat", dress)
    assert_same(tables(path), wanted)


UNAME = " ".join(("Linux", "described", "6.18.0", "x86_64"))


# One by one, whatever hypothesis thinks of: each machine in each container.
CONTAINERS = {
    "6": Dress(6),
    "7": Dress(7, Packing("none")),
    "7 zstd": Dress(7),
    "7 zlib": Dress(7, Packing("zlib")),
    "7 zlib, options too": Dress(7, Packing("zlib", options=True, options_each=1)),
    "sub-buffers of 64 KiB": Dress(7, style=Style(65536)),
    "pages of 64 KiB": Dress(6, style=Style(65536), page_size=65536),
    "sub-buffers committed to their ends": Dress(7, style=Style(padded=True, per_page=3)),
}


@pytest.mark.parametrize("dress", CONTAINERS.values(), ids=CONTAINERS)
def test_every_machine_in_every_container(tmp_path: Path, dress: Dress) -> None:
    for machine in MACHINES.values():
        told = narrowed(story())
        # What a task that has exited is called by perf, ftrace knows better.
        told = replace(told, cpus=tuple(until_exit(one) for one in told.cpus))
        wanted = tables(told.write(tmp_path / "perf.data"))
        path = write_trace_dat(replace(told, machine=machine), tmp_path / "trace.dat", dress)
        assert_same(tables(path), wanted)


def until_exit(one: Cpu) -> Cpu:
    return replace(one, happenings=tuple(what for what in one.happenings if not left(what)))


def left(what: h.Happening) -> bool:
    return isinstance(what, h.Exec | h.Exit)


def test_the_header_says_what_it_was(tmp_path: Path) -> None:
    for dress in CONTAINERS.values():
        for machine in MACHINES.values():
            path = write_trace_dat(
                replace(narrowed(story()), machine=machine), tmp_path / "t", dress
            )
            header = Capture(str(path)).header()
            packed = dress.version == 7 and dress.packing.algorithm != "none"
            said = (
                "format",
                "version",
                "byte_order",
                "word_bytes",
                "compressed",
                "finished",
                "notes",
            )
            assert [header[name] for name in said] == [
                *(
                    "trace.dat",
                    dress.version,
                    {"<": "little", ">": "big"}[machine.order],
                    machine.word,
                ),
                *(packed, True, []),
            ]
            said = (
                "clock",
                "time_unit",
                "resolution_ns",
                "uname",
                "buffer",
                "trace_id",
                "tool_version",
            )
            assert [header[name] for name in said] == [
                *("mono", "ns", 1, UNAME, "", 0x17084, "3.1.6 described"),
            ]
            [top] = header["buffers"]
            assert (top["name"], top["cpus"], top["clock"]) == ("", 2, "mono")
            assert top["bytes"] > 0
            assert {one["name"] for one in header["events"]} >= {
                one.event for one in story().formats
            }


def checks(told: Recording, path: Path) -> Iterator[None]:
    got, wanted = Answer(path), reference(told)
    assert got.window == (wanted.start_ns, wanted.end_ns)
    assert_conserved(got)
    assert got.summary["disagreements"] == 0
    for check in (check_segments, check_softirqs, check_polls, check_slices):
        yield check(got, wanted)


# Of perf's recording of the same, which says the same, all examples are compared with it.
@examples(20)
@given(recordings(), dresses(), machines())
def test_the_ledger_agrees_with_the_reference(
    fresh: Fresh, told: Recording, dress: Dress, machine: Machine
) -> None:
    folder = fresh()
    told = replace(narrowed(told), machine=machine)
    assert all(
        one is None for one in checks(told, write_trace_dat(told, folder / "trace.dat", dress))
    )


@examples(20)
@given(recordings(realtime=True), dresses())
def test_the_ledger_agrees_with_the_reference_under_preempt_rt(
    fresh: Fresh, told: Recording, dress: Dress
) -> None:
    path = write_trace_dat(told, fresh() / "trace.dat", dress)
    assert all(one is None for one in checks(told, path))
