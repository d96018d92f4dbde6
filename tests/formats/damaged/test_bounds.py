# Captures that are well-formed and made to cost time or memory: reading them takes no longer than
# their size explains, and what is held stays below what the project promises for any size.

import os
import struct
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest
import zstandard
from _pytest.mark import ParameterSet

from netcost_analysis._native import Capture
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
    MACHINES,
    X86_64,
    Attr,
    Comm,
    Encoder,
    FinishedRound,
    Fork,
    Format,
    Header,
    Machine,
    Sample,
    Where,
    wrapped,
    write_directory,
    write_file,
    write_pipe,
)
from support.perfdata import tracepoints as t
from support.perfdata.container import RECORD_LIMIT, attr_record
from support.perfdata.formats import Common, Value
from support.perfdata.records import Other
from support.texts import ENTRY, lines, step
from support.tracedat import Buffer, Contents, Entry, Packing, encoded, ring

TRACING_DATA, EVENT_UPDATE, COMPRESSED = 66, 78, 81
UPDATE_NAME = 2
SWITCH = t.SCHED_SWITCH
WOKEN: dict[str, Value] = {"comm": "a", "pid": 8, "prio": 120, "target_cpu": 0}
ROUND = Encoder([]).encode(FinishedRound())
UNNAMED = Header(event_names=False)
Made = Callable[[Path], object]


# --- Headers: much of one thing, times much of another.


# A command line that filters many events many times over.
def filters_of_many_events(path: Path) -> None:
    names = ",".join(f"e{number}" for number in range(10_000))
    header = Header(cmdline=("perf", "record", "-e", names, *["--filter=x"] * 10_000))
    path.write_bytes(write_file(attrs(LINES), LINES, [exit_sample()], header))


# Patterns that each of many events has to be compared with, and that none fits.
def patterns_for_many_events(path: Path) -> None:
    patterns = ",".join("*a*b*c*d" for _ in range(10_000))
    header = Header(cmdline=("perf", "record", "-e", patterns, "--filter=x"), event_names=False)
    many = [Attr("", number, (1000 + number,), type=1, size=64) for number in range(10_000)]
    path.write_bytes(write_file(many, (), [], header))


# Names by id, for events that have many ids or none, and none of those.
def names_of_ids(number: int, ids: range, path: Path) -> None:
    encode = Encoder([]).encode
    name = encode(Other(EVENT_UPDATE, struct.pack("<QQ8s", UPDATE_NAME, 7, b"name")))
    one = encode(attr_record(Attr("", 5, tuple(ids), type=1, size=64), X86_64))
    path.write_bytes(write_pipe([], (), [], UNNAMED) + one * number + name * 60_000)


class Thin(Format):
    def text(self, machine: Machine) -> str:
        field = "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
        return f"name: {self.name}\nID: {self.id}\n{field}"


# Each event is another table; and after each of the records at the end, all of them are looked at.
def tables_of_many_events(path: Path) -> None:
    formats = [Thin("irq", f"event{number:05}", number, ()) for number in range(20_000)]
    many = [Attr(one.event, one.id, (10**6 + one.id,), size=64) for one in formats]
    whole = write_pipe(many, formats, [], UNNAMED)
    whole += Encoder(many).encode(Sample(Where(0, 1000), bytes(12)))
    path.write_bytes(whole + struct.pack("<IHHI", TRACING_DATA, 0, 12, 0) * 50_000)


# Attributes of the least size perf ever wrote, which all point at the same ids.
def attributes_that_share_their_ids(count: int, ids: int, path: Path) -> None:
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


# --- Fields of one record.


class Fields(Format):
    def text(self, machine: Machine) -> str:
        common = super().text(machine).split("\n\tfield:unsigned int vec")[0]
        return f'{common}\n{self.print_fmt}\nprint fmt: ""\n'


def with_fields(kind: str, places: list[int]) -> Format:
    field = "\tfield:__data_loc {}[] f{};\toffset:{};\tsize:4;\tsigned:0;\n"
    fields = (field.format(kind, number, at) for number, at in enumerate(places))
    return Fields("irq", "softirq_entry", 223, t.SOFTIRQ_ENTRY.fields, "".join(fields))


# 1000 fields that all describe the same word, which says that their text is the whole record.
def fields_that_overlap(path: Path) -> None:
    size, format_ = 60_000, with_fields("char", [8] * 1000)
    head = struct.pack("<HBBiI", 223, 0, 0, 500, size << 16 | 12)
    records = [
        Sample(Where(0, 1000 + number), head + b"%08d" % number + b"A" * (size - 8))
        for number in range(20)
    ]
    path.write_bytes(write_file(attrs((format_,)), (format_,), records))


# Fields that each have their own place, from which they point into the same bytes: the first to all
# of them, the next to all but one, and so on.
def fields_that_point_to_the_same(kind: str, path: Path) -> None:
    first, size = 1100, 57_000
    format_ = with_fields(kind, [8 + 4 * number for number in range(250)])
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
    path.write_bytes(write_pipe(attrs((format_,)), (format_,), records))


# --- Records.


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


# --- Packed records, and records that stop the walk over them.


def record(machine: Machine, kind: int, body: bytes) -> bytes:
    return machine.pack("IHH", kind, 0, 8 + len(body)) + body


def head(machine: Machine) -> bytes:
    return write_pipe(attrs(LINES), LINES, [], machine=machine)


# Each of these may be followed by something that is no record.
def many_records_that_stop_the_walk(name: str, path: Path) -> None:
    machine = MACHINES[name]
    one = Encoder(attrs(LINES), machine).encode(exit_sample())
    path.write_bytes(head(machine) + one + record(machine, TRACING_DATA, bytes(4)) * 500_000)


# A record of 64 KiB waits for its last bytes while packed records come that hold raw blocks
# of no bytes.
def packed_records_with_nothing_in_them(name: str, path: Path) -> None:
    machine = MACHINES[name]
    packer = zstandard.ZstdCompressor().compressobj()
    begun = machine.pack("IHH", 200, 0, 65528) + bytes(range(256)) * 255
    packed = packer.compress(begun) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    nothing = record(machine, COMPRESSED, bytes(3))
    path.write_bytes(head(machine) + record(machine, COMPRESSED, packed) + nothing * 300_000)


# Gigabytes of samples in some hundred KB.
def packed_records_that_unpack_to_very_much(path: Path) -> None:
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    some = Encoder(attrs(LINES)).encode(exit_sample()) * (1 << 18)
    packed = b"".join(packer.compress(some) for _ in range((3 << 30) // len(some)))
    packed += packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    pieces = [packed[at : at + RECORD_LIMIT] for at in range(0, len(packed), RECORD_LIMIT)]
    path.write_bytes(head(X86_64) + b"".join(record(X86_64, COMPRESSED, one) for one in pieces))


# A hundred kilobytes that unpack to gigabytes: neither memory nor disk are filled with them. Many
# members say the same as one long stream, and are sooner packed.
def wrapped_bomb(kind: str, path: Path) -> None:
    path.write_bytes(wrapped(bytes(1 << 20), kind) * 1024)
    assert path.stat().st_size < 2 << 20


# --- Texts.


# Every second line of millions on many CPUs: neither time nor memory grows with their product.
def many_lines_that_cannot_be_read(path: Path) -> None:
    cpus = "".join(step(cpu, 1, ENTRY) for cpu in range(1000))
    path.write_text(cpus + "".join(f"?\n{step(0, at, ENTRY)}" for at in range(2, 100_000)))


def many_events_and_names(path: Path) -> None:
    line = "t{0}-{0} [{1:03d}] 1.{0:06d}: event_{2}: text {3}\n"
    numbers = range(100_000)
    path.write_text("".join(line.format(n, n % 4000, n % 20_000, n % 100) for n in numbers))


def long_text(path: Path) -> None:
    whole = ("\n".join(lines("ftrace")) + "\n").encode()
    path.write_bytes(whole * (300_000_000 // len(whole)))


# One full sub-buffer many times over, each a microsecond after the one before: 100 MiB, 6.5 million
# events.
def many_pages(kind: str, path: Path) -> None:
    payload = t.SOFTIRQ_RAISE.payload({"vec": 3}, Common(1, 1, 500), X86_64)
    one = ring([Entry(10**9 + number, payload) for number in range(255)], X86_64)
    rows = repeated(one, 12_800)
    put(rows, 0, 10**9 + 1000 * np.arange(12_800), "<u8")
    top = Buffer("", "mono", dict.fromkeys(range(2), rows.tobytes()))
    contents = Contents((top,), (t.SOFTIRQ_RAISE,))
    path.write_bytes(encoded(contents, 6) if kind == "6" else encoded(contents, 7, Packing(kind)))


SCAN, EVENTS = "capture().scan()", "capture().all_events()"
LEDGER, DISPLACED = "capture().timeline([])", "capture().timeline(['displaced'])"
ENTRIES = "capture().events('irq:softirq_entry')"
PAGES = 'assert capture().scan()["events"]["irq:softirq_raise"] == 2 * 12_800 * 255'
STOLEN = "from netcost_analysis.cli.main import main; sys.argv = ['netcost', 'stolen', sys.argv[1]]"
STOLEN += "; main()"
TWO = ("x86_64", "s390x")
TIMED, SLOW = [pytest.mark.measures], [pytest.mark.slow]
PACKINGS = ("6", "none", "zstd", "zlib")


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
    case(filters_of_many_events, SCAN, megabytes=128),
    case(patterns_for_many_events, SCAN, megabytes=128),
    case(partial(names_of_ids, 60, range(1000, 9000)), SCAN, megabytes=256),
    case(partial(names_of_ids, 60_000, range(0)), SCAN, megabytes=256),
    case(tables_of_many_events, EVENTS, megabytes=512),
    # 1 MB of ids, named by each of 800 attributes.
    case(partial(attributes_that_share_their_ids, 800, 1 << 17), SCAN),
    case(
        partial(attributes_that_share_their_ids, 100_000, 0),
        f"{LEDGER}; capture().event_times(0, 1 << 62, [0])",
        seconds=6,
    ),
    case(fields_that_overlap, ENTRIES),
    case(partial(fields_that_point_to_the_same, "char"), ENTRIES, megabytes=256),
    case(partial(fields_that_point_to_the_same, "u8"), ENTRIES, megabytes=256),
    case(cpus_on_which_nothing_happens, "capture().timeline([], bin_ns=2000)", seconds=6),
    case(large_records_between_those_that_a_flush_may_repeat, LEDGER, megabytes=64),
    case(many_tasks_and_many_cpus, LEDGER, seconds=6),
    case(partial(many_switches, 300_000), STOLEN, 10, 256),
    case(partial(many_switches, 650_000), STOLEN, 10, 112),
    *(case(partial(many_records_that_stop_the_walk, name), SCAN, megabytes=64) for name in TWO),
    *(case(partial(packed_records_with_nothing_in_them, name), SCAN, megabytes=64) for name in TWO),
    case(packed_records_that_unpack_to_very_much, f"print({EVENTS})", seconds=5),
    *(case(partial(wrapped_bomb, kind), SCAN, megabytes=256) for kind in ("gzip", "zstd")),
    case(many_lines_that_cannot_be_read, SCAN, 5, 512),
    case(many_events_and_names, SCAN, 5, 256),
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
    # Large captures.
    case(long_text, SCAN, 20, 100, SLOW),
    *(case(partial(many_pages, kind), PAGES, 10, 96, SLOW) for kind in PACKINGS),
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
    if isinstance(made, partial) and made.func is wrapped_bomb:
        assert said.startswith("CaptureError")
    path.unlink()


def test_lines_of_too_many_events_are_counted(tmp_path: Path) -> None:
    many_events_and_names(tmp_path / "trace.txt")
    notes = Capture(str(tmp_path / "trace.txt")).scan()["notes"]
    [note] = [note for note in notes if "are no events" in note]
    assert int(note.split()[0]) == 100_000 - 16_384 * 5


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
    for number, (cpu, one) in enumerate(steps):
        rows = block(formats, count, one)
        put(rows, TIME, 1000 + 10_000 * np.arange(count) + 1000 * number, "<i8")
        put(rows, CPU, np.full(count, cpu))
        if number == 5:
            put(rows, COMMON_PID, np.full(count, 30))
        columns.append(rows)
    path = pipe(tmp_path / "moved", formats, np.concatenate(columns, axis=1).tobytes())
    what = f"found = capture().timeline(['segments', 'polls']{bins})['tables']['polls']; "
    what += "import pyarrow as pa; print(pa.table(found)['self_ns'].unique().to_pylist())"
    assert "[1000]" in bounded(path, what)
