# Captures that are small and well-formed, and made to cost memory: what is held stays below what
# the project promises for a capture of any size.

import struct
from pathlib import Path
from random import Random

import numpy as np
import pytest

from support.bounded import (
    COMMON_PID,
    CPU,
    LINES,
    NEXT_PID,
    PREV_PID,
    TIME,
    attrs,
    block,
    bounded,
    exit_sample,
    pipe,
    put,
    sample,
    switch,
)
from support.perfdata import (
    Attr,
    Encoder,
    FinishedRound,
    Format,
    Sample,
    Where,
    write_file,
    write_pipe,
)
from support.perfdata import tracepoints as t
from support.perfdata.formats import Value
from support.perfdata.machine import X86_64, Machine


# A file with attributes of the least size perf ever wrote, which all point at the same ids.
def with_attributes(path: Path, count: int, ids: int) -> Path:
    data = bytearray(write_file(attrs(LINES), LINES, [exit_sample()]))
    ids_at = len(data)
    data += np.arange(10**6, 10**6 + ids, dtype="<u8").tobytes()
    at = len(data)
    for place, one in enumerate(LINES):
        entry = Attr(one.event, one.id, (), size=64).encode(X86_64)
        data += entry + struct.pack("<QQ", 104 + 8 * place, 8)
    for config in range(count):
        entry = Attr("", 10**6 + config, (), size=64).encode(X86_64)
        data += entry + struct.pack("<QQ", ids_at, 8 * ids)
    struct.pack_into("<QQQ", data, 16, 80, at, 80 * (count + len(LINES)))
    path.write_bytes(data)
    return path


# 1 MB of ids, named by each of 800 attributes.
def test_attributes_that_share_their_ids(tmp_path: Path) -> None:
    bounded(with_attributes(tmp_path / "ids", 800, 1 << 17), "capture().scan()")


def test_many_attributes(tmp_path: Path) -> None:
    path = with_attributes(tmp_path / "attrs", 100_000, 0)
    bounded(path, "capture().timeline([])")
    bounded(path, "capture().event_times(0, 1 << 62, [0])")


class Overlapping(Format):
    def text(self, machine: Machine) -> str:
        common = super().text(machine).split("\n\tfield:unsigned int vec")[0]
        field = "\tfield:__data_loc char[] f{};\toffset:8;\tsize:4;\tsigned:0;\n"
        fields = "".join(field.format(number) for number in range(1000))
        return f'{common}\n{fields}\nprint fmt: ""\n'


# 1000 fields that all describe the same word, which says that their text is the whole record.
def test_fields_that_overlap(tmp_path: Path) -> None:
    size = 60_000
    format_ = Overlapping("irq", "softirq_entry", 223, t.SOFTIRQ_ENTRY.fields)
    head = struct.pack("<HBBiI", 223, 0, 0, 500, size << 16 | 12)
    records = [
        Sample(Where(0, 1000 + number), head + b"%08d" % number + b"A" * (size - 8))
        for number in range(20)
    ]
    path = tmp_path / "overlap"
    path.write_bytes(write_file(attrs((format_,)), (format_,), records))
    bounded(path, "capture().events('irq:softirq_entry')")


class Pointing(Format):
    def text(self, machine: Machine) -> str:
        common = super().text(machine).split("\n\tfield:unsigned int vec")[0]
        field = "\tfield:__data_loc {kind}[] f{number};\toffset:{at};\tsize:4;\tsigned:0;\n"
        fields = (
            field.format(kind=self.print_fmt, number=number, at=8 + 4 * number)
            for number in range(250)
        )
        return f'{common}\n{"".join(fields)}\nprint fmt: ""\n'


# Fields that each have their own place, from which they point into the same bytes: the first to all
# of them, the next to all but one, and so on.
@pytest.mark.parametrize("kind", ["char", "u8"])
def test_fields_that_point_to_the_same(tmp_path: Path, kind: str) -> None:
    first, size = 1100, 57_000
    format_ = Pointing("irq", "softirq_entry", 223, t.SOFTIRQ_ENTRY.fields, kind)
    head = struct.pack("<HBBi", 223, 0, 0, 500)
    head += b"".join(struct.pack("<I", size << 16 | first + number) for number in range(250))
    random = Random(0)
    records = [
        Sample(
            Where(0, 1000 + number),
            head.ljust(first, b"\0") + random.randbytes(58_000).hex().encode()[:58_000],
        )
        for number in range(80)
    ]
    path = tmp_path / "pointing"
    path.write_bytes(write_pipe(attrs((format_,)), (format_,), records))
    bounded(path, "capture().events('irq:softirq_entry')", megabytes=256)


# 64 CPUs with two events each, a second apart, in bins of two microseconds are 32 million bins. Who
# asks for so many may be refused.
def test_bins_of_cpus_on_which_nothing_happens(tmp_path: Path) -> None:
    cpus = np.arange(64)
    rows = block(LINES, len(cpus), exit_sample())
    put(rows, CPU, cpus)
    later = rows.copy()
    put(later, TIME, np.full(len(cpus), 1000 + 10**9), "<i8")
    path = pipe(tmp_path / "bins", LINES, rows.tobytes() + later.tobytes())
    said = bounded(path, "capture().timeline([], bin_ns=2000)", seconds=6)
    assert said == "read" or "bins" in said


# What a flush may repeat is kept, its bytes copied; what stands between those records is not.
def test_large_records_between_those_that_a_flush_may_repeat(tmp_path: Path) -> None:
    events = [*attrs(LINES), Attr("dummy", 999, (777,), type=1)]
    encode = Encoder(events).encode
    ignored = encode(Sample(Where(0, 1000, 0, 0, 2), bytes(60_000))) * 5
    path = tmp_path / "flush"
    with path.open("wb") as file:
        file.write(write_pipe(events, LINES, []))
        for number in range(400):
            one = encode(exit_sample(time=1000 + number, cpu=number % 2))
            file.write(one + ignored + one)
    assert path.stat().st_size > 100 << 20
    bounded(path, "capture().timeline([])", megabytes=64)


# 20,000 tasks on one CPU, and then an event on each of 16,000 others: none needs to know them all.
def test_many_tasks_and_many_cpus(tmp_path: Path) -> None:
    formats = (t.SCHED_SWITCH, *LINES)
    tasks, cpus = 1 + np.arange(20_000), 1 + np.arange(16_000)
    switched = block(formats, len(tasks), switch(formats, 1, 1))
    put(switched, TIME, 1000 + tasks, "<i8")
    for offset, pids in ((COMMON_PID, tasks), (PREV_PID, tasks), (NEXT_PID, tasks + 1)):
        put(switched, offset, pids)
    # Of a task that came last, so that all before it have been told.
    rows = block(formats, len(cpus), exit_sample())
    put(rows, CPU, cpus)
    put(rows, COMMON_PID, 20_001 + cpus)
    path = pipe(tmp_path / "tasks", formats, switched.tobytes() + rows.tobytes())
    bounded(path, "capture().timeline([])", seconds=6)


# Who was displaced, of a capture with two million switches and wake-ups: no row of them is kept. Of
# half as many the stays are, so that one pass does.
@pytest.mark.parametrize(("count", "megabytes"), [(300_000, 256), (650_000, 112)])
def test_stolen_of_many_switches(tmp_path: Path, count: int, megabytes: int) -> None:
    formats = (t.SCHED_SWITCH, t.SCHED_WAKEUP)
    woken: dict[str, Value] = {"comm": "a", "pid": 8, "prio": 120, "target_cpu": 0}
    happened = [
        (7, sample(formats, t.SCHED_WAKEUP, woken)),
        (7, switch(formats, 7, 8)),
        (8, switch(formats, 8, 7)),
    ]
    steps = [block(formats, count, one) for _, one in happened]
    for step, (rows, (pid, _)) in enumerate(zip(steps, happened, strict=True)):
        put(rows, TIME, 2000 + 10 * np.arange(count) + step, "<i8")
        put(rows, COMMON_PID, np.full(count, pid))
    every, end = np.concatenate(steps, axis=1), Encoder([]).encode(FinishedRound())
    rounds = (every[at : at + 12_000].tobytes() + end for at in range(0, count, 12_000))
    path = pipe(tmp_path / "switches", formats, b"".join(rounds))
    command = "sys.argv = ['netcost', 'stolen', sys.argv[1]]; main()"
    what = f"from netcost_analysis.cli.main import main; {command}"
    assert "displaced" in bounded(path, what, seconds=10, megabytes=megabytes)
