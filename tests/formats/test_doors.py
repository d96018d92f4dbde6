# The same answer from every door: one workload on this machine, recorded at once by perf, by
# trace-cmd and through tracefs alone, is the same events one by one, and the same time of the same
# owners.

import itertools
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from netcost_analysis._native import Capture
from support.host import require_root_tracing
from support.live import EVENTS
from support.native_tables import Answer, assert_conserved, rows
from support.tracedat.live import events, load, trace_cmd_record, tracefs_folder

pytestmark = pytest.mark.measures

# Tracers read the clock one after the other.
APART_NS = 200_000
# Where each of them switches its events on and off one by one.
EDGE_NS = 20_000_000


@dataclass(frozen=True)
class Doors:
    perf: Path
    trace_cmd: Path
    tracefs: Path
    # Tasks of which perf records nothing on some hosts (docs/capture.md, What a recorder can miss).
    unseen: frozenset[int]

    # From the first event of perf's recording to its last, edges aside.
    @property
    def window(self) -> tuple[int, int]:
        return window(self.perf)


PERF = ("-a", "-k", "CLOCK_MONOTONIC", "-c", "1", "-m", "4096", "-B", "-N")


# perf runs inside trace-cmd's recording and that inside the copied one, so that neither is the
# shorter.
@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Doors:
    perf = require_root_tracing()
    folder = tmp_path_factory.mktemp("doors")
    paths = [folder / name for name in ("perf.data", "trace.dat", "trace.tracefs")]
    inner = [perf, "record", "-q", *PERF, "-o", str(paths[0]), "-e", ",".join(EVENTS), "--"]
    options = ("-C", "mono", "-b", "20000", *events(EVENTS))
    unseen = idle_and_process_1()
    with tracefs_folder(paths[2], EVENTS):
        trace_cmd_record(paths[1], *options, load=[*inner, *load(0.8)], worth=busy)
    return Doors(*paths, unseen | idle_and_process_1())


def idle_and_process_1() -> frozenset[int]:
    return frozenset({0, *(int(path.name) for path in Path("/proc/1/task").iterdir())})


def busy(path: Path) -> bool:
    return bool(sum(Capture(str(path)).scan()["events"].values()) > 5000)


@pytest.fixture(params=["trace_cmd", "tracefs"])
def other(request: pytest.FixtureRequest, doors: Doors) -> Path:
    path: Path = getattr(doors, request.param)
    return path


Key = tuple[Any, ...]


# (CPU, event, task, fields) to the times at which that happened.
@cache
def happened(path: Path) -> dict[Key, list[int]]:
    found: defaultdict[Key, list[int]] = defaultdict(list)
    for event, table in Capture(str(path)).all_events().items():
        for row in rows(table):
            fields = sorted(
                pair for pair in row.items() if not pair[0].startswith(("common_", "time_"))
            )
            found[(row["common_cpu"], event, row["common_pid"], *fields)].append(row["time_ns"])
    # perf writes the end of a flush twice.
    return {key: sorted(set(times)) for key, times in found.items()}


def window(path: Path) -> tuple[int, int]:
    scan = Capture(str(path)).scan()
    return scan["start_ns"] + EDGE_NS, scan["end_ns"] - EDGE_NS


# Of two lists of times, those of the first that have none of their own in the second.
def alone(times: Iterable[int], others: list[int]) -> Iterator[int]:
    used = 0
    for at in times:
        used = max(used, bisect_left(others, at - APART_NS))
        if used < len(others) and others[used] <= at + APART_NS:
            used += 1
        else:
            yield at


def missing(one: Path, other: Path, start: int, end: int) -> list[Key]:
    theirs = happened(other)
    return [
        (at, *key)
        for key, times in happened(one).items()
        for at in alone((at for at in times if start <= at <= end), theirs.get(key, []))
    ]


def test_the_recordings_are_worth_comparing(doors: Doors) -> None:
    for path in (doors.perf, doors.trace_cmd, doors.tracefs):
        scan = Capture(str(path)).scan()
        assert scan["lost_events"] == 0
        assert scan["events"]["irq:softirq_entry"] > 100
        assert scan["events"]["napi:napi_poll"] > 100
        assert scan["events"]["sched:sched_switch"] > 100
    start, end = doors.window
    assert end - start > 300_000_000
    for path in (doors.trace_cmd, doors.tracefs):
        scan = Capture(str(path)).scan()
        assert scan["start_ns"] < start < end < scan["end_ns"]


# A virtual machine can be paused for longer than APART_NS, but not often between the two.
def few(found: list[Key], path: Path) -> bool:
    return len(found) <= 0.0005 * sum(map(len, happened(path).values()))


# On all hosts perf leaves out what happens while it writes an event in the same context.
def test_every_event_is_there_and_in_perfs(doors: Doors, other: Path) -> None:
    assert few(missing(doors.perf, other, *doors.window), doors.perf)
    found = missing(other, doors.perf, *doors.window)
    counts = {key: len(times) for key, times in happened(other).items()}
    tasks = sum(count for key, count in counts.items() if key[2] not in doors.unseen)
    assert len([key for key in found if key[3] not in doors.unseen]) < 0.005 * tasks


# Two rings of one tracer: nothing is left out of either.
def test_ftraces_rings_have_the_same_events(doors: Doors) -> None:
    inside = window(doors.trace_cmd)
    assert few(missing(doors.trace_cmd, doors.tracefs, *inside), doors.trace_cmd)
    assert few(missing(doors.tracefs, doors.trace_cmd, *inside), doors.tracefs)


# The order on a CPU: tracers are called one after the other, and only what interrupts them between
# can come in another order.
def test_the_order_on_each_cpu_is_the_same(doors: Doors, other: Path) -> None:
    start, end = doors.window
    orders = []
    for path in (doors.perf, other):
        order: defaultdict[int, list[tuple[int, str, int]]] = defaultdict(list)
        for key, times in happened(path).items():
            if key[2] not in doors.unseen:
                order[key[0]] += ((at, key[1], key[2]) for at in times if start <= at <= end)
        orders.append({cpu: [one[1:] for one in sorted(lane)] for cpu, lane in order.items()})
    compared = 0
    for cpu, lane in orders[0].items():
        pairs = Counter(itertools.pairwise(lane))
        # A CPU that did next to nothing says nothing of order.
        if pairs.total() < 100:
            continue
        others = Counter(itertools.pairwise(orders[1][cpu]))
        assert (pairs - others).total() < 0.02 * pairs.total()
        compared += 1
    assert compared


def test_tables_have_the_same_columns(doors: Doors, other: Path) -> None:
    for event in EVENTS:
        mine, theirs = (
            pa.table(Capture(str(path)).events(event)).schema for path in (doors.perf, other)
        )
        assert mine.names == theirs.names, event
        # How many bytes a name's number takes follows from how many names there are.
        assert [plain(one) for one in mine.types] == [plain(one) for one in theirs.types], event


def plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def test_the_ledgers_agree(doors: Doors, other: Path) -> None:
    start, end = doors.window
    answers = [Answer(path, start_ns=start, end_ns=end) for path in (doors.perf, other)]
    for one in answers:
        assert_conserved(one)
    # Softirqs and interrupts, by CPU and number: as many, and as long.
    for table, key in (("softirqs", "vec"), ("hardirqs", "irq")):
        mine, theirs = (spent(one, table, key, doors.unseen) for one in answers)
        for which, (count, total) in mine.items():
            other_count, other_total = theirs[which]
            # perf leaves out, and does not say so, what happens while it writes an event itself.
            assert abs(count - other_count) <= 5 + 0.05 * count, (table, which)
            # Each entry and exit is seen up to microseconds apart.
            assert abs(total - other_total) <= 5_000 * count + APART_NS, (table, which)
    packets = [
        sum(row["work"] or 0 for row in one.polls if row["tid"] not in doors.unseen)
        for one in answers
    ]
    assert packets[0] > 0
    assert abs(packets[0] - packets[1]) <= 64 + 0.01 * packets[0]


def spent(
    one: Answer, table: str, key: str, unseen: frozenset[int]
) -> dict[tuple[int, int], tuple[int, int]]:
    found: defaultdict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for row in one.tables[table]:
        whole = row["entry_ns"] is not None and row["exit_ns"] is not None
        # Nor whose it was, where that is not known.
        if whole and row["tid"] is not None and row["tid"] not in unseen:
            cell = found[(row["cpu"], row[key])]
            cell[0] += 1
            cell[1] += row["exit_ns"] - row["entry_ns"]
    return {which: (cell[0], cell[1]) for which, cell in found.items()}
