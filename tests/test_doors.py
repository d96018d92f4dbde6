# The same answer from every door: one workload on this machine, recorded at once by perf and by
# trace-cmd, is the same events, one by one, and the same time for the same owners.

import itertools
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import require_root_tracing
from live import EVENTS
from native_tables import Answer, assert_conserved, rows
from tracedat.live import events, load, trace_cmd_record

from netcost_analysis._native import Capture

# Two tracers read the clock one after the other.
APART_NS = 200_000
# Where each of them switches its events on and off one by one.
EDGE_NS = 20_000_000


@dataclass(frozen=True)
class Both:
    perf: Path
    trace_cmd: Path


# perf runs inside trace-cmd's recording, so that this one is never the shorter.
@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    perf = require_root_tracing()
    folder = tmp_path_factory.mktemp("doors")
    found = Both(folder / "perf.data", folder / "trace.dat")
    inner = [
        perf,
        "record",
        "-q",
        "-a",
        "-k",
        "CLOCK_MONOTONIC",
        "-c",
        "1",
        "-m",
        "4096",
        "-B",
        "-N",
    ]
    inner += ["-o", str(found.perf), "-e", ",".join(EVENTS), "--", *load(0.8)]
    options = ("-C", "mono", "-b", "20000", *events(EVENTS))
    # Whoever else uses the top buffer, which is everybody's, ends the recording.
    for _ in range(3):
        trace_cmd_record(found.trace_cmd, *options, load=inner)
        if sum(Capture(str(found.trace_cmd)).scan()["events"].values()) > 5000:
            break
    return found


Key = tuple[Any, ...]
# What tracers put there themselves.
OWN = ("common_flags", "common_preempt_count", "common_comm", "time_ns")


# (CPU, event, task, fields) to the times at which that happened.
def happened(path: Path) -> dict[Key, list[int]]:
    found: defaultdict[Key, list[int]] = defaultdict(list)
    for event, table in Capture(str(path)).all_events().items():
        for row in rows(table):
            fields = sorted((name, value) for name, value in row.items() if name not in OWN)
            # Ids of events are those of the boot, and no common field says more than these.
            kept = tuple(pair for pair in fields if not pair[0].startswith("common_"))
            found[(row["common_cpu"], event, row["common_pid"], *kept)].append(row["time_ns"])
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


def missing(
    one: dict[Key, list[int]], other: dict[Key, list[int]], start: int, end: int
) -> list[Key]:
    return [
        (at, *key)
        for key, times in one.items()
        for at in alone((at for at in times if start <= at <= end), other.get(key, []))
    ]


def test_the_recordings_are_worth_comparing(both: Both) -> None:
    for path in (both.perf, both.trace_cmd):
        scan = Capture(str(path)).scan()
        assert scan["lost_events"] == 0
        assert scan["events"]["irq:softirq_entry"] > 100
        assert scan["events"]["napi:napi_poll"] > 100
        assert scan["events"]["sched:sched_switch"] > 100
    start, end = window(both.perf)
    assert end - start > 300_000_000
    # perf's recording lies within trace-cmd's.
    scan = Capture(str(both.trace_cmd)).scan()
    assert scan["start_ns"] < start < end < scan["end_ns"]


def test_every_event_of_perf_is_in_trace_cmds(both: Both) -> None:
    found = missing(happened(both.perf), happened(both.trace_cmd), *window(both.perf))
    assert found == []


# On some hosts perf records nothing while one CPU's idle task is current, and on all it leaves out
# what happens while it writes an event in the same context.
def test_every_event_of_trace_cmd_is_in_perfs(both: Both) -> None:
    theirs = happened(both.trace_cmd)
    found = missing(theirs, happened(both.perf), *window(both.perf))
    tasks = sum(len(times) for key, times in theirs.items() if key[2] != 0)
    assert len([key for key in found if key[3] != 0]) < 0.005 * tasks


# The order on a CPU: two tracers are called one after the other, and only what interrupts them
# between can come in another order.
def test_the_order_on_each_cpu_is_the_same(both: Both) -> None:
    start, end = window(both.perf)
    orders = []
    for path in (both.perf, both.trace_cmd):
        order: defaultdict[int, list[tuple[int, str, int]]] = defaultdict(list)
        for key, times in happened(path).items():
            if key[2] != 0:
                order[key[0]] += ((at, key[1], key[2]) for at in times if start <= at <= end)
        orders.append({cpu: [one[1:] for one in sorted(lane)] for cpu, lane in order.items()})
    for cpu, lane in orders[0].items():
        pairs = Counter(itertools.pairwise(lane))
        others = Counter(itertools.pairwise(orders[1][cpu]))
        assert (pairs - others).total() < 0.02 * pairs.total() > 0


# The columns, and what they are made of.
def test_tables_have_the_same_columns(both: Both) -> None:
    perf, trace_cmd = Capture(str(both.perf)), Capture(str(both.trace_cmd))
    for event in EVENTS:
        found = {
            name: (table.column_names, table.schema.types)
            for name, table in (
                ("perf", arrow(perf, event)),
                ("trace-cmd", arrow(trace_cmd, event)),
            )
        }
        assert found["perf"] == found["trace-cmd"], event


def arrow(capture: Capture, event: str) -> Any:
    import pyarrow as pa

    return pa.table(capture.events(event))


def test_the_ledgers_agree(both: Both) -> None:
    start, end = window(both.perf)
    perf, trace_cmd = (
        Answer(path, start_ns=start, end_ns=end) for path in (both.perf, both.trace_cmd)
    )
    for one in (perf, trace_cmd):
        assert_conserved(one)
    # Softirqs, by CPU and vector: as many, and as long.
    for table, key in (("softirqs", "vec"), ("hardirqs", "irq")):
        spent = [time_of(one, table, key) for one in (perf, trace_cmd)]
        for which, (count, total) in spent[0].items():
            other_count, other_total = spent[1][which]
            assert abs(count - other_count) <= 2 + 0.01 * count, (table, which)
            # Each entry and exit is seen up to microseconds apart.
            assert abs(total - other_total) <= 5_000 * count + APART_NS, (table, which)
    packets = [sum(row["work"] or 0 for row in one.polls) for one in (perf, trace_cmd)]
    assert packets[0] > 0
    assert abs(packets[0] - packets[1]) <= 64 + 0.01 * packets[0]


# Where the task was idle's, perf may have seen less.
def time_of(one: Answer, table: str, key: str) -> dict[tuple[int, int], tuple[int, int]]:
    found: defaultdict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for row in one.tables[table]:
        if row["entry_ns"] is not None and row["exit_ns"] is not None and row["tid"]:
            cell = found[(row["cpu"], row[key])]
            cell[0] += 1
            cell[1] += row["exit_ns"] - row["entry_ns"]
    return {which: (cell[0], cell[1]) for which, cell in found.items()}
