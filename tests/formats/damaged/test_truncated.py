# Cut anywhere, a capture keeps its whole records and says what is lost. Bytes that are no record:
# native/tests/formats/perf_data/damage.rs.

import itertools
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from netcost_analysis._native import Capture, CaptureError
from support.bounded import attrs, sample
from support.host import Fresh, examples
from support.native_tables import Answer, assert_conserved, rows
from support.perfdata import MACHINES, Encoder, Sample, cpu, recording, write_file, write_pipe
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.story import story
from support.told import NET_RX, OPENSSL, UDPSINK


@dataclass(frozen=True)
class Whole:
    data: bytes
    # Where the records begin, and where each of them ends, samples or not.
    start: int
    ends: list[int]
    are_samples: list[bool]

    # Samples that lie whole in the first `size` bytes.
    def kept(self, size: int) -> int:
        return sum(itertools.compress(self.are_samples, (end <= size for end in self.ends)))


@cache
def whole(name: str, pipe: bool) -> Whole:
    machine = MACHINES[name]
    told = story(machine=machine)
    attrs, records = told.attrs(), told.records()
    data = (write_pipe if pipe else write_file)(attrs, told.formats, records, machine=machine)
    sizes = [len(Encoder(attrs, machine).encode(one)) for one in records]
    start = len(data) - sum(sizes) if pipe else machine.number(data[40:48])
    ends = [start + size for size in itertools.accumulate(sizes)]
    return Whole(data, start, ends, [isinstance(one, Sample) for one in records])


@examples(150)
@given(st.sampled_from(sorted(MACHINES)), st.booleans(), st.floats(0, 1))
# The last byte of a file belongs to its features, of a pipe to its last record.
@example("x86_64", False, 0.99999)
@example("ppc", True, 0.99999)
def test_whole_records_before_the_cut_are_kept(
    fresh: Fresh, name: str, pipe: bool, share: float
) -> None:
    one = whole(name, pipe)
    size = int(share * len(one.data))
    path = fresh() / "perf.data"
    path.write_bytes(one.data[:size])
    try:
        scan = Capture(str(path)).scan()
    except CaptureError:
        # Only where there is nothing to keep.
        assert one.kept(size) == 0
        return
    assert scan["records"].get("SAMPLE", 0) == one.kept(size)
    # A pipe that ends between two records looks like a whole one.
    if size == len(one.data) or (one.start < size and not (pipe and size in one.ends)):
        assert bool(scan["notes"]) is (size < len(one.data)), (name, pipe, size)


# Without its end a file has lost what stands there: the formats of its events. Their samples stay.
def test_a_file_cut_behind_its_records_still_has_samples(tmp_path: Path) -> None:
    for name, machine in MACHINES.items():
        told, one = story(machine=machine), whole(name, False)
        path = tmp_path / "perf.data"
        path.write_bytes(one.data[: one.ends[-1]])
        capture = Capture(str(path))
        events = capture.header()["events"]
        assert [event["config"] for event in events] == [attr.config for attr in told.attrs()]
        times = [row["time_ns"] for event in events for row in rows(capture.samples(event["name"]))]
        assert sorted(times) == sorted(event.at for event in told.events())


# Records that do not say what they should: told in a note, never turned into rows.


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
