# Records that do not say what they should: told in a note, never turned into rows. Where they are
# cut, or no records: native/tests/formats/perf_data/damage.rs.

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from netcost_analysis._native import Capture
from support.bounded import attrs, sample
from support.native_tables import Answer, assert_conserved
from support.perfdata import Sample, cpu, recording, write_file, write_pipe
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import NET_RX, OPENSSL, UDPSINK

# openssl |hardirq |openssl |hardirq |openssl
#         100      110      120      130      200
# And on CPU 1 one event at 150.
TOLD = recording(
    cpu(
        0,
        *(h.IrqEntry(100, 32), h.IrqExit(110, 32), h.IrqEntry(120, 32), h.IrqExit(130, 32)),
        h.Waking(200, UDPSINK),
        task=OPENSSL,
    ),
    cpu(1, h.IrqEntry(150, 33)),
    known=(OPENSSL,),
)


def nowhere(one: Sample) -> Sample:
    return replace(one, where=replace(one.where, cpu=0xFFFFFFFF))


def short(one: Sample) -> Sample:
    return replace(one, raw=one.raw[:4])


# perf writes CPU -1 where it does not know: such a sample is nobody's time. Four bytes of payload,
# where the format says sixteen, says nothing; and where a CPU has no other, it was not recorded.
@pytest.mark.parametrize(
    ("times", "damage", "said", "cpus"),
    [
        ((), short, None, [0, 1]),
        ((120,), nowhere, "1 sample", [0, 1]),
        ((110, 120), short, "2 sample", [0, 1]),
        ((150,), short, "1 sample", [0]),
    ],
    ids=["none", "of no CPU", "too short", "a CPU's only one"],
)
def test_what_a_sample_does_not_say_is_noted(
    tmp_path: Path,
    times: tuple[int, ...],
    damage: Callable[[Sample], Sample],
    said: str | None,
    cpus: list[int],
) -> None:
    records = [
        damage(one) if isinstance(one, Sample) and one.where.time in times else one
        for one in TOLD.records()
    ]
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(TOLD.attrs(), TOLD.formats, records))
    got = Answer(path)
    assert_conserved(got)
    assert got.summary["cpus"] == sorted({row["cpu"] for row in got.segments}) == cpus
    if said is None:
        assert got.summary["notes"] == got.scan["notes"] == []
    else:
        assert [note for note in got.summary["notes"] if said in note]


# Softirq vectors that no kernel has are nobody's NET_RX, and every column has a name of its own.
def test_softirq_vectors_out_of_range_are_not_aliased(tmp_path: Path) -> None:
    told: list[h.Happening] = []
    for place, vec in enumerate((NET_RX, 35, 259, 2**32 - 1)):
        now = 1000 + 10 * place
        told += [h.SoftirqEntry(now, vec), h.SoftirqExit(now + 5, vec)]
    told += [h.Switch(1100, UDPSINK, 1), h.Waking(1200, OPENSSL)]
    path = recording(cpu(0, *told, task=OPENSSL)).write(tmp_path / "perf.data")
    got = Answer(path)
    assert_conserved(got)
    assert {row["vec"] for row in got.softirqs if row["action"] == "NET_RX"} == {NET_RX}
    of_softirqs = [row for row in got.sums if row["context"] == "softirq"]
    assert sum(row["ns"] for row in of_softirqs if row["is_network"] == "yes") == 5
    slices = Capture(str(path)).timeline(["slices"])["tables"]["slices"]
    names = pa.table(slices).column_names
    assert len(set(names)) == len(names), names


# No instance, and a name outside the record: nothing that would tell this poll from no poll. (Found
# by fuzzing.)
def test_a_poll_of_nothing(tmp_path: Path) -> None:
    formats = (t.NAPI_POLL,)
    poll = sample(formats, t.NAPI_POLL, {"napi": 0, "dev_name": "", "work": 1, "budget": 64}, 0x10)
    raw = bytearray(poll.raw)
    [place] = [at for field, at in t.NAPI_POLL.offsets() if field.name == "dev_name"]
    struct.pack_into("<I", raw, place, 0xFFFFFFFF)
    path = tmp_path / "perf.data"
    path.write_bytes(write_pipe(attrs(formats), formats, [replace(poll, raw=bytes(raw))]))
    [row] = Answer(path).polls
    assert (row["device"], row["work"]) == (None, 1)
