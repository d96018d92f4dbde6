# Sub-buffers byte by byte: every record type at every edge, and what damage leaves of them.

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis._native import Capture
from support.native_tables import rows
from support.perfdata import MACHINES, X86_64, Machine
from support.perfdata import tracepoints as t
from support.perfdata.formats import Common, Format, Value
from support.tracedat import Buffer, Contents, Discarded, Entry, Style, Taken, ring, version7
from support.tracedat.ring import Item, Ring

S = 1_000_000_000
FORMATS: tuple[Format, ...] = (t.SOFTIRQ_RAISE, t.SCHED_PROCESS_EXEC)
every_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
NONE = version7.Packing("none")


def raised(at: int, vec: int = 1, machine: Machine = X86_64) -> Entry:
    return Entry(at, t.SOFTIRQ_RAISE.payload({"vec": vec}, Common(0, 1, 500), machine))


def executed(at: int, filename: str, machine: Machine = X86_64) -> Entry:
    values: dict[str, Value] = {"filename": filename, "pid": 500, "old_pid": 500}
    return Entry(at, t.SCHED_PROCESS_EXEC.payload(values, Common(0, 1, 500), machine))


def written(
    path: Path, rings: Mapping[int, bytes], machine: Machine = X86_64, page_size: int = 4096
) -> Path:
    top = Buffer("", "mono", rings, page_size)
    contents = Contents((top,), FORMATS, machine=machine, page_size=min(page_size, 4096))
    path.write_bytes(version7.write(contents, NONE))
    return path


def times(path: Path, event: str = "irq:softirq_raise") -> list[int]:
    return [row["time_ns"] - S for row in rows(Capture(str(path)).events(event))]


def notes(path: Path) -> list[str]:
    return list(Capture(str(path)).scan()["notes"])


# 28 words is the most whose length stands in a record's header.
@every_machine
def test_records_of_every_length(tmp_path: Path, machine: Machine) -> None:
    for wide in (False, True):
        names = ["x" * length for length in (*range(130), 1000, 3000, 4020)]
        entries = [executed(S + number, name, machine) for number, name in enumerate(names)]
        path = written(tmp_path / "t", {0: ring(entries, machine, Style(wide=wide))}, machine)
        found = rows(Capture(str(path)).events("sched:sched_process_exec"))
        assert [row["filename"] for row in found] == names
        assert [row["time_ns"] - S for row in found] == list(range(len(names)))
        assert notes(path) == []


# Records of 16 bytes: 255 of them fill a sub-buffer of a 64-bit machine to the last byte.
def test_sub_buffers_that_are_full_to_the_byte(tmp_path: Path) -> None:
    for count in (1, 254, 255, 256, 510, 511):
        pages = ring([raised(S + number) for number in range(count)], X86_64)
        assert len(pages) == 4096 * -(-count // 255)
        path = written(tmp_path / "t", {0: pages})
        assert times(path) == list(range(count))
        assert notes(path) == []


PAUSES = (0, 1, (1 << 27) - 1, 1 << 27, (1 << 27) + 1, 1 << 32, 1 << 54)


def test_pauses(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        for stamps in ("extend", "absolute"):
            for every in (False, True):
                wanted = [sum(PAUSES[: number + 1]) for number in range(len(PAUSES))]
                entries = [raised(S + at, machine=machine) for at in wanted]
                style = Style(stamps=stamps, every=every)
                path = written(tmp_path / "t", {3: ring(entries, machine, style)}, machine)
                assert times(path) == wanted


# The five highest bits of an absolute stamp are the sub-buffer's.
def test_late_times(tmp_path: Path) -> None:
    for start in (1 << 58, 1 << 59, (1 << 61) + 12345):
        for stamps in ("extend", "absolute"):
            style = Style(stamps=stamps, every=True)
            entries = [raised(start + step) for step in (0, 1, 1 << 30, 1 << 40)]
            path = written(tmp_path / "t", {0: ring(entries, X86_64, style)})
            assert times(path) == [one.at - S for one in entries]


# What was given back is no event, but its time counts for those behind it.
def test_records_that_were_given_back(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        items: list[Item] = []
        for number in range(100):
            at = S + 10 * number
            items += [raised(at, machine=machine), Discarded(at + 5, 4 + 4 * (number % 40))]
        path = written(tmp_path / "t", {0: ring(items, machine)}, machine)
        assert times(path) == [10 * number for number in range(100)]
        assert notes(path) == []


# (body of a sub-buffer, as the ring's own methods make it)
def odd_pages(one: Ring) -> dict[str, bytes]:
    rest = one.room
    return {
        "nothing": b"",
        "a given-back record": one.head(29, 5) + one.sized(20),
        "padding to the end": one.head(29, 0) + b"\xff" * (rest - 4),
        "padding to the end, at its end": one.head(29, 0),
        "a time": one.words(30, 1 << 30),
        "an absolute time": one.words(31, S),
    }


@every_machine
def test_sub_buffers_without_an_event(tmp_path: Path, machine: Machine) -> None:
    for kind in odd_pages(Ring(X86_64)):
        one = Ring(machine)
        body = odd_pages(one)[kind]
        odd = one.sub_buffer(S + 5, len(body), body)
        before, after = (ring([raised(at, machine=machine)], machine) for at in (S, S + 10))
        rings = {0: before + odd + after, 1: odd}
        path = written(tmp_path / "t", rings, machine)
        assert times(path) == [0, 10]
        assert notes(path) == []


# Rows that a table has from undamaged sub-buffers and CPUs, whatever stands between them.
def damaged(one: Ring) -> dict[str, bytes]:
    good = one.data(0, raised(S, machine=one.machine).payload)
    pack = one.machine.pack
    bodies = {
        "no length": one.head(0, 1) + pack("I", 0) + bytes(8),
        "too short a length": one.head(0, 1) + pack("I", 3) + bytes(8),
        "too long a length": one.head(0, 1) + pack("I", 4000) + bytes(8),
        "an endless length": one.head(0, 1) + pack("I", 2**32 - 1) + bytes(8),
        "a record that is cut": one.head(20, 1) + bytes(8),
        "a time that is cut": one.head(30, 1),
        "a length that is cut": one.head(0, 1),
        "half a header": b"\1\1",
    }
    pages = {
        name: one.sub_buffer(S, len(good + body), good + body) for name, body in bodies.items()
    }
    return pages | {
        "committed beyond its end": one.sub_buffer(S, one.room + 4, good),
        "committed far beyond": one.sub_buffer(S, (1 << 27) - 1, good),
    }


@every_machine
def test_damage_ends_one_sub_buffer_and_is_said(tmp_path: Path, machine: Machine) -> None:
    for kind in damaged(Ring(X86_64)):
        bad = damaged(Ring(machine))[kind]
        before, after = (ring([raised(at, machine=machine)], machine) for at in (S - 10, S + 10))
        path = written(tmp_path / "t", {0: before + bad + after, 1: after}, machine)
        found = times(path)
        # What stands before the damage is kept, if anything can be believed.
        assert found in ([-10, 10, 10], [-10, 0, 10, 10])
        assert ("committed" in kind) or found[1] == 0
        assert any("damage" in note for note in notes(path))


def test_records_of_an_unknown_event_are_counted(tmp_path: Path) -> None:
    strange = Entry(S + 1, X86_64.pack("HBBI", 999, 0, 1, 500))
    path = written(tmp_path / "t", {0: ring([raised(S), strange, raised(S + 2)], X86_64)})
    assert times(path) == [0, 2]
    assert any(note.startswith("1 ") for note in notes(path))


# What is no whole sub-buffer may be read as far as it goes; that it is none is said.
def test_half_a_sub_buffer(tmp_path: Path) -> None:
    pages = ring([raised(S + number) for number in range(300)], X86_64)
    path = written(tmp_path / "t", {0: pages[: 4096 + 100]})
    assert times(path)[:255] == list(range(255))
    assert notes(path)


def lanes(*times_: Sequence[int]) -> dict[int, bytes]:
    style = Style(per_page=2)
    return {
        cpu: ring([raised(S + at, cpu) for at in lane], X86_64, style)
        for cpu, lane in enumerate(times_)
    }


# Each CPU's stream is in the order of time; the table is, for all of them.
def test_streams_merge_by_time(tmp_path: Path) -> None:
    path = written(tmp_path / "t", lanes((0, 3, 6, 9), (1, 1, 1, 20), (), (5, 6, 7)))
    found = rows(Capture(str(path)).events("irq:softirq_raise"))
    got = [(row["time_ns"] - S, row["common_cpu"]) for row in found]
    assert (
        sorted(got)
        == got
        == sorted(
            [*((at, 0) for at in (0, 3, 6, 9)), *((at, 1) for at in (1, 1, 1, 20))]
            + [(at, 3) for at in (5, 6, 7)]
        )
    )


# A clock that is not coherent runs backwards within a CPU: the order of its ring stays.
def test_time_that_runs_backwards(tmp_path: Path) -> None:
    backwards = [raised(S + at, vec) for vec, at in enumerate((0, 100, 50, 200))]
    items: list[Item] = [*backwards, Taken(), raised(S + 150, 4), raised(S + 300, 5)]
    path = written(tmp_path / "t", {0: ring(items, X86_64)})
    found = rows(Capture(str(path)).events("irq:softirq_raise"))
    assert [row["vec"] for row in found] == [0, 1, 2, 3, 4, 5]
    assert [row["time_ns"] - S for row in found] == [0, 100, 50, 200, 150, 300]


# The kernel's long is what header_page says; the file's is that of the recorder's programs.
def test_a_recorder_of_fewer_bits_than_its_kernel(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        top = Buffer("", "mono", {0: ring([raised(S, 7, machine)], machine)})
        contents = Contents((top,), FORMATS, machine=machine, user_word=4)
        path = tmp_path / "t"
        path.write_bytes(version7.write(contents))
        found: list[dict[str, Any]] = rows(Capture(str(path)).events("irq:softirq_raise"))
        assert [(row["time_ns"], row["vec"], row["common_pid"]) for row in found] == [(S, 7, 500)]
