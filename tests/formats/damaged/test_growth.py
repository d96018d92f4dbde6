# Captures with much of one thing: four times as much of it takes four times the work, whatever the
# ledger looks up for each.

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from netcost_analysis import open_capture
from support.bounded import (
    COMMON_PID,
    CPU,
    EXIT,
    FIELDS,
    HARDIRQ,
    LINES,
    SOFTIRQ,
    TIME,
    Block,
    attrs,
    block,
    exit_sample,
    pipe,
    put,
    ratio,
    repeated,
    sample,
    switch,
)
from support.perfdata import X86_64, Encoder, FinishedRound, Format, Header, Where, write_pipe
from support.perfdata import tracepoints as t
from support.perfdata.formats import Common, Value
from support.perfdata.records import Lost
from support.tracedat import Buffer, Contents, Entry, Missed, Style, encoded, ring

WOKEN: dict[str, Value] = {"comm": "a", "pid": 8, "prio": 120, "target_cpu": 0}
POLL: dict[str, Value] = {"napi": 1, "dev_name": "eth0000000", "work": 1, "budget": 64}
ROUND = Encoder([]).encode(FinishedRound())


# Every wait is between two losses: all of them of one clock, so that wake-ups are compared too.
def losses_in_a_text(path: Path, count: int) -> Path:
    idle, woken = ("swapper/0", 0), ("a", 7)
    lines = ["# tracer: nop\n#\n"]
    for number in range(count):
        lines += (
            happened(idle, 3 * number, "sched_wakeup: comm=a pid=7 prio=120 target_cpu=000"),
            happened(idle, 3 * number + 1, switched(idle, woken, "R")),
            happened(woken, 3 * number + 2, switched(woken, idle, "S")),
            "CPU:0 [LOST 1 EVENTS]\n",
        )
    path.write_text("".join(lines))
    return path


def happened(task: tuple[str, int], after_us: int, what: str) -> str:
    comm, pid = task
    seconds, rest = divmod(1_000_000 + after_us, 1_000_000)
    return f"{comm if pid else '<idle>'}-{pid} [000] d... {seconds}.{rest:06}: {what}\n"


def switched(before: tuple[str, int], after: tuple[str, int], state: str) -> str:
    left = f"prev_comm={before[0]} prev_pid={before[1]} prev_prio=120 prev_state={state}"
    return f"sched_switch: {left} ==> next_comm={after[0]} next_pid={after[1]} next_prio=120"


# Rounds settle all waits but that of one task, which never runs.
def losses_while_one_waits(path: Path, count: int) -> Path:
    formats = (t.SCHED_SWITCH, t.SCHED_WAKEUP)
    encode, number = Encoder(attrs(formats)).encode, np.arange(count)
    waits: dict[str, Value] = {**WOKEN, "pid": 99}
    first = encode(sample(formats, t.SCHED_WAKEUP, waits, time=1500))
    steps = []
    for one in (sample(formats, t.SCHED_WAKEUP, WOKEN), switch(formats, 7, 8)):
        steps.append(timed(block(formats, count, one), 2000 + 10 * number + len(steps)))
        put(steps[-1], COMMON_PID, np.full(count, 7))
    steps.append(timed(block(formats, count, switch(formats, 8, 7)), 2002 + 10 * number))
    put(steps[-1], COMMON_PID, np.full(count, 8))
    lost, mark = repeated(encode(Lost(1, 1, Where(0, 0x1122334455667788))), count), b"\x88\x77\x66"
    put(lost, lost[0].tobytes().index(mark), 2004 + 10 * number, "<i8")
    rows = np.concatenate([*steps, lost], axis=1)
    rounds = (rows[at : at + 12_000].tobytes() for at in range(0, count, 12_000))
    return pipe(path, formats, first + b"".join(one + ROUND for one in rounds))


def timed(rows: Block, times: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> Block:
    put(rows, TIME, times, "<i8")
    return rows


# Polls in one softirq, each of another device.
def polls(formats: tuple[Format, ...], count: int, since: int) -> bytes:
    entry = sample(formats, t.SOFTIRQ_ENTRY, {"vec": 3}, SOFTIRQ, time=since)
    rows = block(formats, count, sample(formats, t.NAPI_POLL, POLL, SOFTIRQ))
    at = rows[0].tobytes().index(b"eth0000000") + len("eth")
    names = np.array([f"{number:07}" for number in range(count)], "S7")
    rows[:, at : at + 7] = names.view(np.uint8).reshape(count, 7)
    return Encoder(attrs(formats)).encode(entry) + timed(rows, since + np.arange(count)).tobytes()


def devices_of_one_softirq(path: Path, count: int) -> Path:
    formats = (t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT, t.NAPI_POLL)
    return pipe(path, formats, polls(formats, count, 1000))


# Interrupts, each of another line.
def interrupts(formats: tuple[Format, ...], count: int, raising: bool) -> bytes:
    number = np.arange(count)
    entered: dict[str, Value] = {"irq": 0, "name": "x"}
    entry = block(formats, count, sample(formats, t.IRQ_HANDLER_ENTRY, entered, HARDIRQ))
    left = block(formats, count, sample(formats, t.IRQ_HANDLER_EXIT, EXIT, HARDIRQ))
    for rows, later in ((entry, 0), (left, 2)):
        put(timed(rows, 1000 + 10 * number + later), FIELDS, number)
    steps = [entry, left]
    if raising:
        raised = block(formats, count, sample(formats, t.SOFTIRQ_RAISE, {"vec": 3}, HARDIRQ))
        steps.insert(1, timed(raised, 1001 + 10 * number))
    return np.concatenate(steps, axis=1).tobytes()


# Each leads to the next NET_RX, and that never runs.
def lines_that_raise(path: Path, count: int) -> Path:
    formats = (*LINES, t.SOFTIRQ_RAISE)
    return pipe(path, formats, interrupts(formats, count, raising=True))


# None is named after any of the devices.
def lines_and_devices(path: Path, count: int) -> Path:
    formats = (*LINES, t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT, t.NAPI_POLL)
    of_lines = interrupts(formats, count, raising=False)
    return pipe(path, formats, of_lines + polls(formats, count, 10**9))


# A stopper moves tasks, and another of them executes programs.
def moves_and_programs(path: Path, count: int) -> Path:
    formats = (t.SCHED_MIGRATE_TASK, t.SCHED_PROCESS_EXEC, t.SCHED_SWITCH)
    moved: dict[str, Value] = {"comm": "a", "pid": 77, "prio": 120, "orig_cpu": 0, "dest_cpu": 1}
    program: dict[str, Value] = {"filename": "/a", "pid": 9, "old_pid": 9}
    data = Encoder(attrs(formats)).encode(switch(formats, 5, 9, ("a", "migration/0")))
    for one, values, since in ((formats[0], moved, 2000), (formats[1], program, 10**9)):
        rows = block(formats, count, sample(formats, one, values))
        put(rows, COMMON_PID, np.full(count, 9))
        data += timed(rows, since + np.arange(count)).tobytes()
    return pipe(path, formats, data)


# Every one lacks its exit.
def vectors(path: Path, count: int) -> Path:
    fields = t.VECTOR_ENTRY["local_timer"].fields
    many = (Format("irq_vectors", f"v{one}_entry", 1000 + one, fields) for one in range(count))
    formats = (*LINES, *many)
    data = Encoder(attrs(LINES)).encode(sample(LINES, t.IRQ_HANDLER_EXIT, EXIT))
    path.write_bytes(write_pipe(attrs(formats), formats, [], Header(event_names=False)) + data)
    return path


# Sub-buffers of one event each, and each behind a loss: many of them are read at once.
def losses_of_a_ring(path: Path, count: int) -> Path:
    size, formats = 64, (t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT)
    raw = t.SOFTIRQ_ENTRY.payload({"vec": 3}, Common(16, 0, 7), X86_64)
    one = ring([Missed(), Entry(1_000, raw)], X86_64, Style(page_size=size))
    assert len(one) == size
    rows = repeated(one, count)
    put(rows, 0, 1_000 + 100 * np.arange(count), "<u8")
    top = Buffer("", "mono", {0: rows.tobytes()}, page_size=size)
    path.write_bytes(encoded(Contents((top,), formats, page_size=size)))
    return path


# Each of another CPU, and so a flush of its own, which perf may have written twice.
def cpu_numbers(path: Path, count: int) -> Path:
    rows = block(LINES, count, exit_sample())
    put(rows, CPU, np.arange(count))
    return pipe(path, LINES, timed(rows, 1000 + np.arange(count)).tobytes())


def test_more_losses_than_are_told_apart_are_merged(tmp_path: Path) -> None:
    found = [open_capture(losses_of_a_ring(tmp_path / str(one), one)).info for one in (9, 60_000)]
    few, many = (len(info["coverage"]) for info in found)
    assert (few, found[1]["lost_unknown"]) == (9, 60_000)
    assert many <= 50_000
    assert any("60000 gaps" in note for note in found[1]["notes"])


@pytest.mark.measures
@pytest.mark.parametrize(
    ("made", "count", "what"),
    [
        (losses_of_a_ring, 50_000, "timeline([])"),
        (losses_in_a_text, 10_000, "timeline(['displaced'])"),
        (losses_while_one_waits, 20_000, "timeline(['displaced'])"),
        (devices_of_one_softirq, 20_000, "timeline([])"),
        (lines_that_raise, 25_000, "timeline([])"),
        (lines_and_devices, 5_000, "timeline([])"),
        (moves_and_programs, 20_000, "timeline(['migrations'])"),
        (vectors, 5_000, "timeline([])"),
        (cpu_numbers, 15_000, "timeline(['segments'])"),
        (cpu_numbers, 60_000, "perfetto('/dev/null', [])"),
    ],
)
def test_four_times_as_many(
    tmp_path: Path, made: Callable[[Path, int], Path], count: int, what: str
) -> None:
    few, many = (made(tmp_path / str(size), size) for size in (count, 4 * count))
    assert ratio(few, many, f"capture().{what}") < 8
