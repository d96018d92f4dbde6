# Sub-buffers that no quiet machine makes, and what damage leaves of them. Byte by byte:
# native/tests/ring_pages.rs.

from collections.abc import Mapping
from pathlib import Path

import pytest

from netcost_analysis._native import Capture
from support.native_tables import rows
from support.perfdata import MACHINES, X86_64, Machine
from support.perfdata import tracepoints as t
from support.perfdata.formats import Common
from support.tracedat import Buffer, Contents, Entry, Packing, Style, Taken, ring, version7
from support.tracedat.ring import Ring

S = 1_000_000_000
machines = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


def raised(at: int, vec: int = 1, machine: Machine = X86_64) -> Entry:
    return Entry(S + at, t.SOFTIRQ_RAISE.payload({"vec": vec}, Common(0, 1, 500), machine))


# (time, CPU, vector) of every event in such rings, and the notes on them.
def found(
    folder: Path, rings: Mapping[int, bytes], machine: Machine = X86_64
) -> tuple[list[tuple[int, int, int]], list[str]]:
    contents = Contents((Buffer("", "mono", rings),), (t.SOFTIRQ_RAISE,), machine=machine)
    path = folder / "trace.dat"
    path.write_bytes(version7.write(contents, Packing("none")))
    capture = Capture(str(path))
    table = rows(capture.events("irq:softirq_raise"))
    seen = [(row["time_ns"] - S, row["common_cpu"], row["vec"]) for row in table]
    return seen, capture.scan()["notes"]


# Bodies of sub-buffers, as the ring's own methods make them.
def odd_pages(one: Ring) -> dict[str, bytes]:
    return {
        "nothing": b"",
        "a given-back record": one.head(29, 5) + one.sized(20),
        "padding to the end": one.head(29, 0) + b"\xff" * (one.room - 4),
        "padding to the end, at its end": one.head(29, 0),
        "a time": one.words(30, 1 << 30),
        "an absolute time": one.words(31, S),
    }


@machines
def test_sub_buffers_without_an_event(tmp_path: Path, machine: Machine) -> None:
    before, after = (ring([raised(at, machine=machine)], machine) for at in (0, 10))
    for kind, body in odd_pages(Ring(machine)).items():
        odd = Ring(machine).sub_buffer(S + 5, len(body), body)
        told = found(tmp_path, {0: before + odd + after, 1: odd}, machine)
        assert told == ([(0, 0, 1), (10, 0, 1)], []), kind


# What stands before the damage in its sub-buffer is kept, and all others.
@machines
def test_damage_ends_one_sub_buffer_and_is_said(tmp_path: Path, machine: Machine) -> None:
    one = Ring(machine)
    good = one.data(0, raised(0, machine=machine).payload)
    before, after = (ring([raised(at, machine=machine)], machine) for at in (-10, 10))
    rest = [(-10, 0, 1), (0, 0, 1), (10, 0, 1), (10, 1, 1)]
    for body, commit, kept in (
        (one.head(0, 1) + machine.pack("I", 4000) + bytes(8), None, rest),
        (one.head(0, 1) + machine.pack("I", 2**32 - 1) + bytes(8), None, rest),
        (b"\1\1", None, rest),
        (b"", one.room + 4, [rest[0], *rest[2:]]),
        (b"", (1 << 27) - 1, [rest[0], *rest[2:]]),
    ):
        bad = one.sub_buffer(S, commit or len(good + body), good + body)
        seen, notes = found(tmp_path, {0: before + bad + after, 1: after}, machine)
        assert seen == kept
        assert any("damage" in note for note in notes)


# Records of an event that no format describes are counted, and of half a sub-buffer at the end what
# is whole is read.
def test_what_is_not_understood_is_said(tmp_path: Path) -> None:
    strange = Entry(S + 1, X86_64.pack("HBBI", 999, 0, 1, 500))
    seen, [note] = found(tmp_path, {0: ring([raised(0), strange, raised(2)], X86_64)})
    assert ([at for at, _, _ in seen], note[:2]) == ([0, 2], "1 ")
    pages = ring([raised(number) for number in range(300)], X86_64)
    seen, notes = found(tmp_path, {0: pages[: 4096 + 100]})
    assert [at for at, _, _ in seen][:255] == list(range(255))
    assert notes


# Each CPU's stream is in the order of time; the table is, for all of them.
def test_streams_merge_by_time(tmp_path: Path) -> None:
    lanes = ((0, 3, 6, 9), (1, 1, 1, 20), (), (5, 6, 7))
    rings = {
        cpu: ring([raised(at) for at in lane], X86_64, Style(per_page=2))
        for cpu, lane in enumerate(lanes)
    }
    seen, _ = found(tmp_path, rings)
    assert seen == sorted((at, cpu, 1) for cpu, lane in enumerate(lanes) for at in lane)


# A clock that is not coherent runs backwards within a CPU: the order of its ring stays.
def test_time_that_runs_backwards(tmp_path: Path) -> None:
    backwards = [raised(at, vec) for vec, at in enumerate((0, 100, 50, 200))]
    seen, _ = found(
        tmp_path, {0: ring([*backwards, Taken(), raised(150, 4), raised(300, 5)], X86_64)}
    )
    times = (0, 100, 50, 200, 150, 300)
    assert seen == [(at, 0, vec) for vec, at in enumerate(times)]
