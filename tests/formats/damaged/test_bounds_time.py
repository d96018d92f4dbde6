# Captures that are small and well-formed, and made to cost time: reading takes no longer than their
# size explains.

import os
from pathlib import Path

import numpy as np
import pytest

from support.bounded import (
    COMMON_PID,
    CPU,
    FIELDS,
    HARDIRQ,
    LINES,
    SOFTIRQ,
    TIME,
    attrs,
    block,
    bounded,
    exit_sample,
    pipe,
    put,
    repeated,
    sample,
    switch,
)
from support.perfdata import Comm, Encoder, FinishedRound, Fork, Where, write_directory
from support.perfdata import tracepoints as t
from support.perfdata.formats import Value

pytestmark = pytest.mark.measures

SWITCH = t.SCHED_SWITCH


# Every interrupt is another line, and none of them returns.
def test_interrupts_that_never_return(tmp_path: Path) -> None:
    count = np.arange(250_000)
    one = sample(LINES, t.IRQ_HANDLER_ENTRY, {"irq": 0, "name": "x"}, HARDIRQ)
    rows = block(LINES, len(count), one)
    put(rows, TIME, 1000 + count, "<i8")
    put(rows, FIELDS, count)
    bounded(pipe(tmp_path / "depth", LINES, rows.tobytes()), "capture().timeline([])")


# Every event is of another task, and nothing says what any of them is called.
def test_victims_without_a_name(tmp_path: Path) -> None:
    count = np.arange(200_000)
    rows = block(LINES, len(count), exit_sample())
    put(rows, TIME, 1000 + count, "<i8")
    put(rows, COMMON_PID, 1 + count)
    bounded(pipe(tmp_path / "victims", LINES, rows.tobytes()), "capture().timeline([])")


# Every task is switched out inside its softirq, as on PREEMPT_RT, and none of them comes back.
def test_softirqs_that_are_never_resumed(tmp_path: Path) -> None:
    formats = (t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT, SWITCH)
    count = np.arange(100_000)
    entries = block(formats, len(count), sample(formats, t.SOFTIRQ_ENTRY, {"vec": 3}, SOFTIRQ))
    nobody: dict[str, Value] = {one.name: "a" if one.is_text else 0 for one in SWITCH.fields}
    switches = block(formats, len(count), sample(formats, SWITCH, nobody, SOFTIRQ))
    place = {one.name: 60 + offset for one, offset in SWITCH.offsets()}
    put(entries, TIME, 1000 + 10 * count, "<i8")
    put(entries, COMMON_PID, 1 + count)
    put(switches, TIME, 1005 + 10 * count, "<i8")
    put(switches, COMMON_PID, 1 + count)
    put(switches, place["prev_pid"], 1 + count)
    put(switches, place["next_pid"], 2 + count)
    data = np.concatenate([entries, switches], axis=1).tobytes()
    bounded(pipe(tmp_path / "parked", formats, data), "capture().timeline([])")


# One tid, renamed and forked over and over, in an order that no machine has.
def test_names_of_one_task(tmp_path: Path) -> None:
    count = np.arange(250_000)
    encode = Encoder(attrs(LINES)).encode
    comms = repeated(encode(Comm(7, 7, "curl", Where(0, 0))), len(count))
    forks = repeated(encode(Fork(7, 7, 7, 7, 0, Where(0, 0))), len(count))
    # After header, tids and name; of FORK's own time, after its four tids.
    put(comms, 8 + 8 + 8 + 8, 10**9 + count, "<i8")
    put(forks, 8 + 16, 1000 + count, "<i8")
    put(forks, 8 + 24 + 8, 1000 + count, "<i8")
    data = comms.tobytes() + forks.tobytes() + encode(exit_sample())
    bounded(pipe(tmp_path / "names", LINES, data), "capture().events('irq:irq_handler_exit')")


# A round of flushes ends after every record, or after none, and there are many CPUs.
@pytest.mark.parametrize("between", [True, False])
def test_rounds_over_many_cpus(tmp_path: Path, between: bool) -> None:
    cpus, rounds = np.arange(32_000), np.arange(64_000)
    rows = block(LINES, len(cpus), exit_sample())
    put(rows, TIME, 1000 + cpus, "<i8")
    put(rows, CPU, cpus)
    ends = repeated(Encoder([]).encode(FinishedRound()), len(rounds))
    if between:
        each = block(LINES, len(rounds), exit_sample())
        put(each, TIME, 100_000 + rounds, "<i8")
        ends = np.concatenate([each, ends], axis=1)
    path = pipe(tmp_path / "lanes", LINES, rows.tobytes() + ends.tobytes())
    bounded(path, "capture().timeline(['displaced'])")


# The same with many tasks that wait to run.
@pytest.mark.parametrize("between", [True, False])
def test_rounds_over_many_waiting_tasks(tmp_path: Path, between: bool) -> None:
    formats = (t.SCHED_WAKEUP, *LINES)
    tasks, rounds = np.arange(100_000), np.arange(100_000)
    woken: dict[str, Value] = {"comm": "a", "pid": 0, "prio": 120, "target_cpu": 0}
    one = sample(formats, t.SCHED_WAKEUP, woken)
    rows = block(formats, len(tasks), one)
    put(rows, TIME, 1000 + tasks, "<i8")
    put(rows, FIELDS + 16, 1 + tasks)
    ends = repeated(Encoder([]).encode(FinishedRound()), len(rounds))
    if between:
        each = block(formats, len(rounds), one)
        put(each, TIME, 200_000 + rounds, "<i8")
        put(each, FIELDS + 16, np.full(len(rounds), 1))
        ends = np.concatenate([each, ends], axis=1)
    path = pipe(tmp_path / "states", formats, rows.tobytes() + ends.tobytes())
    bounded(path, "capture().timeline(['displaced'])")


# A directory of a threaded recording in which one part is a FIFO that nobody writes to: what should
# be there is either refused, or missing and said to be.
def test_a_part_that_is_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "perf.data"
    write_directory(folder, attrs(LINES), LINES, [[exit_sample()]])
    os.mkfifo(folder / "data.0")
    what = "found = capture(); print(found.header()['notes'], found.scan()['notes'])"
    assert "data.0" in bounded(folder, what)


# A NAPI thread that is preempted in the middle of a poll, polls on another CPU, and comes back:
# what it had polled before is taken back each time.
@pytest.mark.parametrize("bins", ["", ", bin_ns=1_000_000"])
def test_polls_that_end_on_another_cpu(tmp_path: Path, bins: str) -> None:
    formats = (SWITCH, t.NAPI_POLL)
    count, napi = 50_000, "napi/eth0-1"
    to, away = (7, 30, ("a", napi)), (30, 7, (napi, "a"))
    poll: dict[str, Value] = {"napi": 1, "dev_name": "eth0", "work": 1, "budget": 64}
    steps = [
        (0, switch(formats, *to)),
        (0, switch(formats, *away, sleeps=False)),
        (1, switch(formats, *to)),
        (1, switch(formats, *away, sleeps=False)),
        (0, switch(formats, *to)),
        (0, sample(formats, t.NAPI_POLL, poll)),
        (0, switch(formats, *away)),
    ]
    columns = []
    for step, (cpu, one) in enumerate(steps):
        rows = block(formats, count, one)
        put(rows, TIME, 1000 + 10_000 * np.arange(count) + 1000 * step, "<i8")
        put(rows, CPU, np.full(count, cpu))
        if step == 5:
            put(rows, COMMON_PID, np.full(count, 30))
        columns.append(rows)
    path = pipe(tmp_path / "moved", formats, np.concatenate(columns, axis=1).tobytes())
    what = f"found = capture().timeline(['segments', 'polls']{bins})['tables']['polls']; "
    what += "import pyarrow as pa; print(pa.table(found)['self_ns'].unique().to_pylist())"
    assert "[1000]" in bounded(path, what)
