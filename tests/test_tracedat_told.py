# One timeline, recorded by perf and by trace-cmd in any dress: the answers are the same. And the
# slow ledger says the same of what trace-cmd recorded.

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Fresh
from hypothesis import given, settings
from hypothesis import strategies as st
from narrator import recordings
from native_tables import Answer, assert_conserved, rows
from perfdata import MACHINES, Cpu, Machine, Recording
from perfdata import happenings as h
from reference_ledger import reference
from test_byte_orders import narrowed
from test_ledger_reference import check_polls, check_segments, check_slices, check_softirqs
from test_writer import story
from tracedat import Dress, Packing, Style, write_trace_dat
from tracedat.dresses import dresses, machines, with_gaps

from netcost_analysis._native import Capture

SILENT = (h.BhDisable, h.BhEnable, h.Flush, h.Unrecorded)


# perf's flushes may write the end of one twice; ftrace's readers take each event once.
def without_repeats(told: Recording) -> Recording:
    cpus = [replace(one, happenings=tuple(map(once, one.happenings))) for one in told.cpus]
    return replace(told, cpus=tuple(cpus))


def once(what: h.Happening) -> h.Happening:
    return replace(what, repeat=0) if isinstance(what, h.Flush) else what


# perf writes a table in the order of its file, trace-cmd's recordings come in the order of time.
def ordered(table: Any) -> list[dict[str, Any]]:
    return sorted(rows(table), key=lambda row: (row["time_ns"], row["common_cpu"]))


def tables(path: Path) -> dict[str, Any]:
    capture, answer = Capture(str(path)), Answer(path)
    assert_conserved(answer)
    found: dict[str, Any] = {name: ordered(table) for name, table in capture.all_events().items()}
    parts = answer.tables | {
        "sums": answer.sums,
        "displaced": answer.displaced,
        "irqs": answer.irqs,
    }
    # Their rows come as the CPUs do, which tie in either order.
    found |= {name: sorted(table, key=str) for name, table in parts.items()}
    found["counts"] = {name: count for name, count in answer.scan["events"].items() if count}
    told = ("start_ns", "end_ns", "cpus", "lost_events", "notes")
    found |= {name: answer.scan[name] for name in told} | {"gaps": sorted(answer.scan["gaps"])}
    found |= {name: answer.summary[name] for name in ("disagreements", "orphan_exits")}
    return found


def assert_same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name, table in wanted.items():
        assert found[name] == table, name


# Some events before an event are lost. perf's record of that has the time at which there was room
# again; of trace-cmd's, the first event's time is all that is known.
def losing(one: Cpu, places: list[tuple[int, int]]) -> Cpu:
    told: list[h.Happening] = list(one.happenings)
    for place, count in places:
        seen = [
            number for number, what in enumerate(told) if not isinstance(what, (*SILENT, h.Lost))
        ]
        if len(seen) < 2:
            break
        at = place % (len(seen) - 1) + 1
        first = max(0, at - count)
        before = seen[first - 1] + 1 if first else 0
        # Between two events is one loss.
        if any(isinstance(what, h.Lost) for what in told[before : seen[at]]):
            continue
        for number in seen[first:at]:
            told[number] = h.unrecorded(told[number])
        told.insert(seen[at], h.Lost(told[seen[at]].at, at - first))
    return replace(one, happenings=tuple(told))


LOSSES = st.lists(st.tuples(st.integers(0, 200), st.integers(1, 9)), max_size=3)


@settings(max_examples=150)
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
@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_every_machine_in_every_container(tmp_path: Path, machine: Machine, dress: Dress) -> None:
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


@pytest.mark.parametrize("dress", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_the_header_says_what_it_was(tmp_path: Path, machine: Machine, dress: Dress) -> None:
    path = write_trace_dat(replace(narrowed(story()), machine=machine), tmp_path / "t", dress)
    header = Capture(str(path)).header()
    packed = dress.version == 7 and dress.packing.algorithm != "none"
    said = ("format", "version", "byte_order", "word_bytes", "compressed", "finished", "notes")
    assert [header[name] for name in said] == [
        *("trace.dat", dress.version, {"<": "little", ">": "big"}[machine.order], machine.word),
        *(packed, True, []),
    ]
    said = ("clock", "time_unit", "resolution_ns", "uname", "buffer", "trace_id", "tool_version")
    assert [header[name] for name in said] == [
        *("mono", "ns", 1, "Linux described 6.18.0 x86_64", "", 0x17084, "3.1.6 described"),
    ]
    [top] = header["buffers"]
    assert (top["name"], top["cpus"], top["clock"]) == ("", 2, "mono")
    assert top["bytes"] > 0
    assert {one["name"] for one in header["events"]} >= {one.event for one in story().formats}


def checks(told: Recording, path: Path) -> Iterator[None]:
    got, wanted = Answer(path), reference(told)
    assert got.window == (wanted.start_ns, wanted.end_ns)
    assert_conserved(got)
    assert got.summary["disagreements"] == 0
    for check in (check_segments, check_softirqs, check_polls, check_slices):
        yield check(got, wanted)


@given(recordings(), dresses(), machines())
def test_the_ledger_agrees_with_the_reference(
    fresh: Fresh, told: Recording, dress: Dress, machine: Machine
) -> None:
    folder = fresh()
    told = replace(narrowed(told), machine=machine)
    assert all(
        one is None for one in checks(told, write_trace_dat(told, folder / "trace.dat", dress))
    )


@given(recordings(realtime=True), dresses())
def test_the_ledger_agrees_with_the_reference_under_preempt_rt(
    fresh: Fresh, told: Recording, dress: Dress
) -> None:
    path = write_trace_dat(told, fresh() / "trace.dat", dress)
    assert all(one is None for one in checks(told, path))
