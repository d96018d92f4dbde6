# Cut anywhere, a capture keeps its whole records and says what is lost. Bytes that are no record:
# native/tests/formats/perf_data/damage.rs.

import itertools
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from netcost_analysis._native import Capture, CaptureError
from support.host import Fresh, examples
from support.native_tables import rows
from support.perfdata import MACHINES, Encoder, Sample, write_file, write_pipe
from support.story import story


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
