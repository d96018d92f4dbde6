# Conservation for any sequence of records, also those that no kernel would write: entries without
# exits, flags that contradict the stack, time running backwards, losses and repeats anywhere.

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis._native import CaptureError
from support.host import Fresh, examples
from support.native_tables import Answer, assert_conserved, by
from support.perfdata import (
    Attr,
    Common,
    FinishedRound,
    Fork,
    Record,
    Sample,
    Throttle,
    Where,
    write_file,
    write_pipe,
)
from support.perfdata import tracepoints as t
from support.perfdata.formats import Format
from support.perfdata.machine import X86_64
from support.perfdata.records import Comm, Lost, LostSamples

CPUS = 3
FORMATS = t.FORMATS
ATTRS = [
    Attr(one.event, one.id, tuple(100 + CPUS * place + cpu for cpu in range(CPUS)))
    for place, one in enumerate(FORMATS)
]
TIDS = st.sampled_from([0, 0, 20, 30, 500, 600, -1])
COMMS = st.sampled_from(
    ["swapper/0", "openssl", "ksoftirqd/0", "napi/eth0-1", "irq/32-virtio2-", ""]
)
STEPS = st.sampled_from([0, 0, 0, 1, 1, 3, 10, 100, -1, -50, 10_000])


def value(name: str) -> st.SearchStrategy[Any]:
    match name:
        case "vec":
            return st.sampled_from([1, 3, 3, 3, 9, 77])
        case "irq" | "vector":
            return st.sampled_from([32, 33, 236])
        case "comm" | "prev_comm" | "next_comm" | "parent_comm" | "child_comm" | "name":
            return COMMS
        case "dev_name" | "filename":
            return st.sampled_from(["eth0", "(no_device)", ""])
        case "pid" | "prev_pid" | "next_pid" | "parent_pid" | "child_pid":
            return TIDS
        case "target_cpu" | "orig_cpu" | "dest_cpu":
            return st.integers(-1, CPUS)
        case _:
            return st.integers(0, 64)


@st.composite
def samples(draw: st.DrawFn, clocks: list[int]) -> Record:
    cpu = draw(st.integers(0, CPUS - 1))
    clocks[cpu] = max(0, clocks[cpu] + draw(STEPS))
    place = draw(st.integers(0, len(FORMATS) - 1))
    format_: Format = FORMATS[place]
    fields = {one.name: draw(value(one.name)) for one in format_.fields}
    flags = draw(st.sampled_from([0, 0x01, 0x09, 0x10, 0x10, 0x11, 0x19, 0x80, 0x81, 0x40, 0xFF]))
    tid = draw(TIDS)
    common = Common(flags, draw(st.integers(0, 5)), tid)
    return Sample(Where(cpu, clocks[cpu], tid, tid, place), format_.pack(fields, common, X86_64))


@st.composite
def rings(draw: st.DrawFn) -> list[Record]:
    clocks = [10_000] * CPUS
    records: list[Record] = []
    for kind in draw(st.binary(max_size=80)):
        cpu = kind % CPUS
        where = Where(cpu, clocks[cpu])
        match kind % 16:
            case 0:
                records.append(Lost(0, draw(st.integers(0, 9)), where))
            case 1:
                records.append(FinishedRound())
            case 2 if records:
                records.extend(records[-draw(st.integers(1, 3)) :])
            case 3:
                records.append(LostSamples(draw(st.integers(0, 9)), where))
            case 4:
                records.append(Comm(500, draw(TIDS), draw(COMMS), where))
            case 5:
                records.append(Fork(1, 1, 700, 500, clocks[cpu], where, exits=bool(kind & 16)))
            case 6:
                records.append(Throttle(where, bool(kind & 16)))
            case _:
                records.append(draw(samples(clocks)))
    return records


@examples(50)
@given(rings(), st.booleans(), st.lists(st.integers(0, 12_000), max_size=2))
def test_any_sequence_conserves(
    fresh: Fresh, records: list[Record], pipe: bool, cuts: list[int]
) -> None:
    path = fresh() / "perf.data"
    path.write_bytes(
        (write_pipe if pipe else write_file)(ATTRS, FORMATS, [*records, FinishedRound()])
    )
    try:
        whole = Answer(path)
    except CaptureError as error:
        # No event that the ledger could use is the only thing that is wrong with such a file; a
        # vector 77 makes an event unreadable.
        if "no readable sample" in str(error):
            return
        useful = [place for place, one in enumerate(FORMATS) if "process" not in one.name]
        assert not any(isinstance(one, Sample) and one.where.event in useful for one in records)
        return
    assert_conserved(whole)
    start, end = whole.window
    edges = sorted({start, end, *(cut for cut in cuts if start < cut < end)})
    parts = [Answer(path, start_ns=a, end_ns=b) for a, b in itertools.pairwise(edges)]
    for part in parts:
        assert_conserved(part)
    if parts:
        key = ("cpu", "tid", "context", "id", "napi", "cost_class")
        summed = sum(
            (by(part.sums, key, lambda row: row["ns"]) for part in parts[1:]),
            start=by(parts[0].sums, key, lambda row: row["ns"]),
        )
        assert summed == by(whole.sums, key, lambda row: row["ns"])
