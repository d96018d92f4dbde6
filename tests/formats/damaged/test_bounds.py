# Captures that are well-formed and made to cost a ledger time or memory: it takes no longer than
# their size explains, and what is held stays below what the project promises for any size. What
# decoders take: native/tests/bounds.

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from support.bounded import (
    COMMON_PID,
    CPU,
    FIELDS,
    HARDIRQ,
    LINES,
    NEXT_PID,
    PREV_PID,
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
from support.perfdata import (
    Attr,
    Comm,
    Encoder,
    FinishedRound,
    Fork,
    Sample,
    Where,
    write_directory,
    write_pipe,
)
from support.perfdata import tracepoints as t
from support.perfdata.formats import Value

SWITCH = t.SCHED_SWITCH
WOKEN: dict[str, Value] = {"comm": "a", "pid": 8, "prio": 120, "target_cpu": 0}
ROUND = Encoder([]).encode(FinishedRound())
Made = Callable[[Path], object]


# 64 CPUs with two events each, a second apart, in bins of two microseconds are 32 million bins. Who
# asks for so many may be refused.
def cpus_on_which_nothing_happens(path: Path) -> None:
    cpus = np.arange(64)
    rows = block(LINES, len(cpus), exit_sample())
    put(rows, CPU, cpus)
    later = rows.copy()
    put(later, TIME, np.full(len(cpus), 1000 + 10**9), "<i8")
    pipe(path, LINES, rows.tobytes() + later.tobytes())


# What a flush may repeat is kept, its bytes copied; what stands between those records is not.
def large_records_between_those_that_a_flush_may_repeat(path: Path) -> None:
    events = [*attrs(LINES), Attr("dummy", 999, (777,), type=1)]
    encode = Encoder(events).encode
    ignored = encode(Sample(Where(0, 1000, 0, 0, 2), bytes(60_000))) * 5
    with path.open("wb") as file:
        file.write(write_pipe(events, LINES, []))
        for number in range(400):
            one = encode(exit_sample(time=1000 + number, cpu=number % 2))
            file.write(one + ignored + one)
    assert path.stat().st_size > 100 << 20


# 20,000 tasks on one CPU, and then an event on each of 16,000 others: none needs to know them all.
def many_tasks_and_many_cpus(path: Path) -> None:
    formats = (SWITCH, *LINES)
    tasks, cpus = 1 + np.arange(20_000), 1 + np.arange(16_000)
    switched = block(formats, len(tasks), switch(formats, 1, 1))
    put(switched, TIME, 1000 + tasks, "<i8")
    for offset, pids in ((COMMON_PID, tasks), (PREV_PID, tasks), (NEXT_PID, tasks + 1)):
        put(switched, offset, pids)
    # Of a task that came last, so that all before it have been told.
    rows = block(formats, len(cpus), exit_sample())
    put(rows, CPU, cpus)
    put(rows, COMMON_PID, 20_001 + cpus)
    pipe(path, formats, switched.tobytes() + rows.tobytes())


# No row of switches and wake-ups is kept for who was displaced. Of half as many the stays are, so
# that one pass does.
def many_switches(count: int, path: Path) -> None:
    formats = (SWITCH, t.SCHED_WAKEUP)
    happened = [
        (7, sample(formats, t.SCHED_WAKEUP, WOKEN)),
        (7, switch(formats, 7, 8)),
        (8, switch(formats, 8, 7)),
    ]
    steps = [block(formats, count, one) for _, one in happened]
    for number, (rows, (pid, _)) in enumerate(zip(steps, happened, strict=True)):
        put(rows, TIME, 2000 + 10 * np.arange(count) + number, "<i8")
        put(rows, COMMON_PID, np.full(count, pid))
    every = np.concatenate(steps, axis=1)
    rounds = (every[at : at + 12_000].tobytes() + ROUND for at in range(0, count, 12_000))
    pipe(path, formats, b"".join(rounds))


# Every interrupt is another line, and none of them returns.
def interrupts_that_never_return(path: Path) -> None:
    count = np.arange(250_000)
    one = sample(LINES, t.IRQ_HANDLER_ENTRY, {"irq": 0, "name": "x"}, HARDIRQ)
    rows = block(LINES, len(count), one)
    put(rows, TIME, 1000 + count, "<i8")
    put(rows, FIELDS, count)
    pipe(path, LINES, rows.tobytes())


# Every event is of another task, and nothing says what any of them is called.
def victims_without_a_name(path: Path) -> None:
    count = np.arange(200_000)
    rows = block(LINES, len(count), exit_sample())
    put(rows, TIME, 1000 + count, "<i8")
    put(rows, COMMON_PID, 1 + count)
    pipe(path, LINES, rows.tobytes())


# Every task is switched out inside its softirq, as on PREEMPT_RT, and none of them comes back.
def softirqs_that_are_never_resumed(path: Path) -> None:
    formats = (t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT, SWITCH)
    count = np.arange(100_000)
    entries = block(formats, len(count), sample(formats, t.SOFTIRQ_ENTRY, {"vec": 3}, SOFTIRQ))
    nobody: dict[str, Value] = {one.name: "a" if one.is_text else 0 for one in SWITCH.fields}
    switches = block(formats, len(count), sample(formats, SWITCH, nobody, SOFTIRQ))
    place = {one.name: 60 + offset for one, offset in SWITCH.offsets()}
    put(entries, TIME, 1000 + 10 * count, "<i8")
    put(switches, TIME, 1005 + 10 * count, "<i8")
    for rows in (entries, switches):
        put(rows, COMMON_PID, 1 + count)
    put(switches, place["prev_pid"], 1 + count)
    put(switches, place["next_pid"], 2 + count)
    pipe(path, formats, np.concatenate([entries, switches], axis=1).tobytes())


# One tid, renamed and forked over and over, in an order that no machine has.
def names_of_one_task(path: Path) -> None:
    count = np.arange(250_000)
    encode = Encoder(attrs(LINES)).encode
    comms = repeated(encode(Comm(7, 7, "curl", Where(0, 0))), len(count))
    forks = repeated(encode(Fork(7, 7, 7, 7, 0, Where(0, 0))), len(count))
    # After header, tids and name; of FORK's own time, after its four tids.
    put(comms, 8 + 8 + 8 + 8, 10**9 + count, "<i8")
    put(forks, 8 + 16, 1000 + count, "<i8")
    put(forks, 8 + 24 + 8, 1000 + count, "<i8")
    pipe(path, LINES, comms.tobytes() + forks.tobytes() + encode(exit_sample()))


# A round of flushes ends after every record, or after none, and there are many CPUs, or many tasks
# that wait to run.
def rounds(of_tasks: bool, between: bool, path: Path) -> None:
    formats = (t.SCHED_WAKEUP, *LINES)
    one = sample(formats, t.SCHED_WAKEUP, WOKEN | {"pid": 0})
    numbers = np.arange(100_000 if of_tasks else 32_000)
    rows = block(formats, len(numbers), one if of_tasks else exit_sample())
    put(rows, TIME, 1000 + numbers, "<i8")
    put(rows, FIELDS + 16 if of_tasks else CPU, of_tasks + numbers)
    ends = repeated(ROUND, 100_000 if of_tasks else 64_000)
    if between:
        each = block(formats, len(ends), one if of_tasks else exit_sample())
        put(each, TIME, 200_000 + np.arange(len(ends)), "<i8")
        if of_tasks:
            put(each, FIELDS + 16, np.full(len(ends), 1))
        ends = np.concatenate([each, ends], axis=1)
    pipe(path, formats if of_tasks else LINES, rows.tobytes() + ends.tobytes())


LEDGER, DISPLACED = "capture().timeline([])", "capture().timeline(['displaced'])"
STOLEN = "from netcost_analysis.cli.main import main; sys.argv = ['netcost', 'stolen', sys.argv[1]]"
STOLEN += "; main()"
BINNED = "from netcost_analysis.timeline.group import Binned; "
BINNED += "capture().aggregates([Binned(2000)], rows=1000)"
TIMED = [pytest.mark.measures]


# What is made, what is asked of it, and the seconds and MiB that this may take.
def case(
    made: Made,
    what: str,
    seconds: int = 3,
    megabytes: int = 1024,
    marks: Sequence[pytest.MarkDecorator] = (),
) -> ParameterSet:
    words = [made.func, *made.args] if isinstance(made, partial) else [made]
    name = " ".join(str(getattr(word, "__name__", word)) for word in words)
    return pytest.param(made, what, seconds, megabytes, id=name.replace("_", " "), marks=marks)


BOUNDS = [
    case(cpus_on_which_nothing_happens, BINNED, seconds=6),
    case(large_records_between_those_that_a_flush_may_repeat, LEDGER, megabytes=64),
    case(many_tasks_and_many_cpus, LEDGER, seconds=6),
    case(partial(many_switches, 300_000), STOLEN, 10, 256),
    case(partial(many_switches, 650_000), STOLEN, 10, 112),
    # Only how long it takes.
    case(interrupts_that_never_return, LEDGER, marks=TIMED),
    case(victims_without_a_name, LEDGER, marks=TIMED),
    case(softirqs_that_are_never_resumed, LEDGER, marks=TIMED),
    case(names_of_one_task, "capture().events('irq:irq_handler_exit')", marks=TIMED),
    *(
        case(partial(rounds, of_tasks, between), DISPLACED, marks=TIMED)
        for of_tasks in (False, True)
        for between in (True, False)
    ),
]


@pytest.mark.parametrize(("made", "what", "seconds", "megabytes"), BOUNDS)
def test_it_is_read_within_bounds(
    tmp_path: Path, made: Made, what: str, seconds: int, megabytes: int
) -> None:
    path = tmp_path / "capture"
    made(path)
    said = bounded(path, what, seconds, megabytes)
    if what is STOLEN:
        assert "displaced" in said
    path.unlink()


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
@pytest.mark.measures
def test_polls_that_end_on_another_cpu(tmp_path: Path) -> None:
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
    for number, (cpu, one) in enumerate(steps):
        rows = block(formats, count, one)
        put(rows, TIME, 1000 + 10_000 * np.arange(count) + 1000 * number, "<i8")
        put(rows, CPU, np.full(count, cpu))
        if number == 5:
            put(rows, COMMON_PID, np.full(count, 30))
        columns.append(rows)
    path = pipe(tmp_path / "moved", formats, np.concatenate(columns, axis=1).tobytes())
    what = "found = capture().timeline(['segments', 'polls'])['tables']['polls']; "
    what += "import pyarrow as pa; print(pa.table(found)['self_ns'].unique().to_pylist())"
    assert "[1000]" in bounded(path, what)
