# Cut anywhere, a capture keeps its whole records and says what is lost; bytes that are no record
# end it, and that is said too.

import itertools
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from netcost_analysis._native import Capture, CaptureError
from support.examples import examples
from support.host import Fresh
from support.native_tables import rows
from support.perfdata import (
    MACHINES,
    Attr,
    Bytes,
    Encoder,
    Machine,
    Record,
    Sample,
    SampleType,
    Where,
    write_file,
    write_pipe,
)
from support.perfdata.attr import TYPE_HARDWARE
from support.story import story

machines = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


@dataclass(frozen=True)
class Whole:
    data: bytes
    # Where the records begin, and where each of them ends, samples or not.
    start: int
    ends: tuple[int, ...]
    samples: tuple[bool, ...]

    # Samples that lie whole in the first `size` bytes.
    def kept(self, size: int) -> int:
        return sum(
            is_sample for end, is_sample in zip(self.ends, self.samples, strict=True) if end <= size
        )


@cache
def whole(name: str, pipe: bool) -> Whole:
    machine = MACHINES[name]
    told = story(machine=machine)
    attrs, records = told.attrs(), told.records()
    write = write_pipe if pipe else write_file
    data = write(attrs, told.formats, records, machine=machine)
    sizes = [len(Encoder(attrs, machine).encode(one)) for one in records]
    if pipe:
        start = len(data) - sum(sizes)
    else:
        start = int.from_bytes(data[40:48], "little" if machine.order == "<" else "big")
    ends = tuple(start + size for size in itertools.accumulate(sizes))
    return Whole(data, start, ends, tuple(isinstance(one, Sample) for one in records))


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
    except CaptureError as refused:
        # Only where there is nothing to keep.
        if "\n" in str(refused):
            raise
        assert one.kept(size) == 0
        return
    assert scan["records"].get("SAMPLE", 0) == one.kept(size)
    # A pipe that ends between two records looks like a whole one.
    if one.start < size < len(one.data) and not (pipe and size in one.ends):
        assert scan["notes"], (name, pipe, size)
    if size == len(one.data):
        assert scan["notes"] == []


# Without its end a file has lost what stands there: the formats of its events. Their samples stay.
def test_a_file_cut_behind_its_records_still_has_samples(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        told = story(machine=machine)
        attrs, records = told.attrs(), told.records()
        name = next(key for key, value in MACHINES.items() if value == machine)
        one = whole(name, False)
        path = tmp_path / "perf.data"
        path.write_bytes(one.data[: one.ends[-1]])
        capture = Capture(str(path))
        events = capture.header()["events"]
        assert [event["config"] for event in events] == [attr.config for attr in attrs]
        times = [row["time_ns"] for event in events for row in rows(capture.samples(event["name"]))]
        assert sorted(times) == sorted(
            record.where.time for record in records if isinstance(record, Sample)
        )


ATTR = Attr("cycles", 0, (7,), TYPE_HARDWARE, SampleType.TIME | SampleType.IDENTIFIER)


def read(path: Path, machine: Machine, pipe: bool, *records: Record | Sample) -> Capture:
    write = write_pipe if pipe else write_file
    path.write_bytes(write([ATTR], [], records, machine=machine))
    return Capture(str(path))


def at(time: int) -> Sample:
    return Sample(Where(0, time))


# A record that claims less than its header, or more than there is, ends what can be read: nothing
# says where the next one begins. Everything before it is kept.
@machines
def test_a_record_of_impossible_size_ends_the_records(tmp_path: Path, machine: Machine) -> None:
    for pipe in (False, True):
        for type_ in (0, 9, 68, 200, 2**32 - 1):
            for size in (0, 1, 7, 65535):
                broken = Bytes(machine.pack("IHH", type_, 0, size))
                capture = read(tmp_path / "perf.data", machine, pipe, at(1), at(2), broken, at(3))
                times = [row["time_ns"] for row in rows(capture.samples("cycles"))]
                assert times == [1, 2]
                scan = capture.scan()
                assert scan["records"]["SAMPLE"] == 2
                assert any("byte" in note for note in scan["notes"])


# Behind the last record: a byte, a header's half, zeros to the end of a page.
def test_trailing_bytes_are_said_and_not_read(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        for pipe in (False, True):
            for rest in (b"\0", b"\0" * 4, b"\xff" * 7, b"\0" * 4096):
                capture = read(tmp_path / "perf.data", machine, pipe, at(1), at(2), Bytes(rest))
                assert [row["time_ns"] for row in rows(capture.samples("cycles"))] == [1, 2]
                assert capture.scan()["notes"]


# A record may be longer than what it has to say, as newer kernels' are.
def test_records_longer_than_their_contents_are_read(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        encoder = Encoder([ATTR], machine)
        longer = Bytes(encoder.framed(9, encoder.encode(at(2))[8:] + b"\xff" * 16, 1))
        capture = read(tmp_path / "perf.data", machine, False, at(1), longer, at(3))
        assert [row["time_ns"] for row in rows(capture.samples("cycles"))] == [1, 2, 3]
        assert capture.scan()["notes"] == []
