# Records that do not say what they should: told in a note, never turned into rows.

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from netcost_analysis._native import Capture
from support.native_tables import Answer, assert_conserved
from support.perfdata import Recording, Sample, cpu, recording, write_file
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, UDPSINK

# openssl |hardirq |openssl |hardirq |openssl
#         100      110      120      130      200
TOLD = recording(
    cpu(
        0,
        h.IrqEntry(100, 32),
        h.IrqExit(110, 32),
        h.IrqEntry(120, 32),
        h.IrqExit(130, 32),
        h.Waking(200, UDPSINK),
        task=OPENSSL,
    ),
    known=(OPENSSL,),
)


def damaged(path: Path, told: Recording, damage: Callable[[Sample], Sample]) -> Answer:
    records = [damage(one) if isinstance(one, Sample) else one for one in told.records()]
    path.write_bytes(write_file(told.attrs(), told.formats, records))
    got = Answer(path)
    assert_conserved(got)
    return got


def says(notes: list[str], *words: str) -> bool:
    return any(all(word in note for word in words) for note in notes)


# perf writes CPU -1 where it does not know: such a sample is nobody's time.
def test_a_sample_of_no_cpu_is_noted_and_makes_no_cpu(tmp_path: Path) -> None:
    def damage(one: Sample) -> Sample:
        return (
            replace(one, where=replace(one.where, cpu=0xFFFFFFFF)) if one.where.time == 120 else one
        )

    got = damaged(tmp_path / "perf.data", TOLD, damage)
    assert got.scan["cpus"] == got.summary["cpus"] == [0]
    assert {row["cpu"] for row in got.segments} == {0}
    assert says(got.summary["notes"], "1 sample", "CPU")


# A payload of four bytes, where the format says sixteen: an exit and an entry that say nothing.
def test_a_sample_that_is_too_short_is_noted(tmp_path: Path) -> None:
    def damage(one: Sample) -> Sample:
        return replace(one, raw=one.raw[:4]) if one.where.time in (110, 120) else one

    got = damaged(tmp_path / "perf.data", TOLD, damage)
    assert says(got.summary["notes"], "2 sample")


# And nothing is said of a capture that is whole.
def test_a_whole_capture_is_not_talked_about(tmp_path: Path) -> None:
    got = damaged(tmp_path / "perf.data", TOLD, lambda one: one)
    assert got.summary["notes"] == got.scan["notes"] == []


# CPU 1 has one sample only, and that one cannot be read: it was not recorded.
def test_a_cpu_without_rows_is_not_listed(tmp_path: Path) -> None:
    told = recording(*TOLD.cpus, cpu(1, h.IrqEntry(150, 33)), known=(OPENSSL,))

    def damage(one: Sample) -> Sample:
        return replace(one, raw=b"") if one.where.cpu == 1 else one

    got = damaged(tmp_path / "perf.data", told, damage)
    assert {row["cpu"] for row in got.segments} == set(got.summary["cpus"])
    assert says(got.summary["notes"], "1 sample")


# Softirq vectors that no kernel has are nobody's NET_RX, and every column has a name of its own.
def test_softirq_vectors_out_of_range_are_not_aliased(tmp_path: Path) -> None:
    told: list[h.Happening] = []
    for place, vec in enumerate((NET_RX, 35, 259, 2**32 - 1)):
        now = 1000 + 10 * place
        told += [h.SoftirqEntry(now, vec), h.SoftirqExit(now + 5, vec)]
    told += [h.Switch(1100, UDPSINK, 1), h.Waking(1200, OPENSSL)]
    got = damaged(
        tmp_path / "perf.data",
        recording(cpu(0, *told, task=OPENSSL), known=(OPENSSL,)),
        lambda one: one,
    )
    assert {row["vec"] for row in got.softirqs if row["action"] == "NET_RX"} == {NET_RX}
    network = [
        row for row in got.sums if row["context"] == "softirq" and row["is_network"] == "yes"
    ]
    assert sum(row["ns"] for row in network) == 5
    slices = Capture(str(tmp_path / "perf.data")).timeline(["slices"])["tables"]["slices"]
    names = pa.table(slices).column_names
    assert len(set(names)) == len(names), names
