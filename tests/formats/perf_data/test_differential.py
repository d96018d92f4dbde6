# A live recording of this machine, read by us and by perf's own tools.

import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from netcost_analysis._native import Capture
from support.native_tables import Answer, assert_conserved, rows
from support.oracle import Seen, perf_handler, perf_kwork, perf_timehist
from support.perfdata.tracepoints import ACTIONS

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def seen(live: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Seen]:
    return perf_handler(live, tmp_path_factory.mktemp("handler"))


@pytest.fixture(scope="module")
def answer(live: Path) -> Answer:
    return Answer(live)


# The handler of perf 6.1 hands integers over without extending their sign, knows no type and no
# padding among the common fields, and no bool.
def unsigned(value: Any) -> Any:
    value = int(value) if isinstance(value, bool) else value
    return value % 2**64 % 2**32 if isinstance(value, int) and -(2**31) <= value < 0 else value


def test_raw_fields_equal_those_of_a_perf_script_handler(
    live: Path, answer: Answer, seen: list[Seen]
) -> None:
    theirs: defaultdict[str, list[Seen]] = defaultdict(list)
    for one in seen:
        theirs[one.event].append(one)
    capture = Capture(str(live))
    tables = {name: pa.table(table) for name, table in capture.all_events().items()}
    for event, wanted in theirs.items():
        assert tables[event].equals(pa.table(capture.events(event)))
        names = sorted(set(wanted[0].fields) - {"common_comm"})
        mine = Counter(
            (
                *(row["time_ns"], row["common_cpu"], row["common_pid"]),
                *(unsigned(row[name]) for name in names),
            )
            for row in rows(tables[event])
        )
        assert mine == Counter(
            (one.time, one.cpu, one.pid, *(unsigned(one.fields[name]) for name in names))
            for one in wanted
        ), event
    counts = {name: len(wanted) for name, wanted in theirs.items()}
    assert counts == {name: count for name, count in answer.scan["events"].items() if count}
    for name in ("irq:softirq_entry", "napi:napi_poll", "sched:sched_switch"):
        assert counts[name] > 100


# perf kwork takes exit minus entry, nested interrupts included, over pairs that it saw whole.
def test_softirqs_and_hardirqs_agree_with_perf_kwork(live: Path, answer: Answer) -> None:
    mine: dict[tuple[str, int, int], list[int]] = {}
    handlers = [
        *((f"(s){ACTIONS[row['vec']]}", row["vec"], row) for row in answer.softirqs),
        *((r["name"], r["irq"], r) for r in answer.hardirqs if r["context"] == "hardirq"),
    ]
    for name, number, row in handlers:
        if row["entry_ns"] is not None and row["exit_ns"] is not None:
            cell = mine.setdefault((name, number, row["cpu"]), [0, 0])
            cell[0] += row["exit_ns"] - row["entry_ns"]
            cell[1] += 1
    theirs = {(one.name, one.id, one.cpu): one for one in perf_kwork(live)}
    assert {key: cell[1] for key, cell in mine.items()} == {
        key: one.count for key, one in theirs.items()
    }
    for key, (total, _) in mine.items():
        # It prints microseconds.
        assert abs(total - theirs[key].total_ns) <= 1000, key


# Not every switch is in every recording: on some hosts perf records nothing while one CPU's idle
# task is current. The events themselves tell, by the pid of who is current.
@dataclass
class Chain:
    breaks: int = 0
    # (cpu, us) of switch-outs of tasks whose switch-in is there too.
    whole: set[tuple[int, int]] = field(default_factory=set)


@pytest.fixture(scope="module")
def chain(seen: list[Seen]) -> Chain:
    result, running, entered = Chain(), dict[int, int](), set[int]()
    for one in seen:
        if running.get(one.cpu, one.pid) != one.pid:
            result.breaks += 1
            entered.discard(one.cpu)
        running[one.cpu] = one.pid
        if one.event == "sched:sched_switch":
            if one.cpu in entered:
                result.whole.add((one.cpu, one.time // 1000))
            running[one.cpu] = one.fields["next_pid"]
            entered.add(one.cpu)
    return result


def test_slices_agree_with_perf_sched_timehist(live: Path, answer: Answer, chain: Chain) -> None:
    ends: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for row in answer.slices:
        ends[(row["cpu"], row["out_ns"] // 1000)].append((row["out_ns"] - row["in_ns"]) // 1000)
    compared = 0
    for cpu, out, run_time in perf_timehist(live):
        if (cpu, out) in chain.whole:
            assert ends[(cpu, out)], f"no slice of CPU {cpu} ends at {out} us"
            assert min(abs(one - run_time) for one in ends[(cpu, out)]) <= 1, (cpu, out, run_time)
            compared += 1
    assert compared >= 0.9 * len(chain.whole) > 50


# The ledger's check against the flags and pids finds the missing switches and nothing else, the
# edges aside, where events are switched on and off one at a time.
@pytest.mark.measures
def test_disagreements_are_the_missing_switches(answer: Answer, chain: Chain) -> None:
    # A switch that perf wrote twice breaks the chain of what it printed, and not the ledger's.
    repeats = 2 * answer.summary["repeats_dropped"]
    edges = 6 * len(answer.summary["cpus"])
    assert chain.breaks - repeats - edges <= answer.summary["disagreements"] <= chain.breaks + edges


def test_a_live_capture_and_its_windows_conserve(live: Path, answer: Answer) -> None:
    assert_conserved(answer)
    start, end = answer.window
    third = (end - start) // 3
    edges = [start, start + third, start + 2 * third, end]
    parts = [Answer(live, start_ns=a, end_ns=b) for a, b in itertools.pairwise(edges)]
    sums: Counter[str] = Counter()
    for part in parts:
        assert_conserved(part)
        for row in part.sums:
            sums[row["context"]] += row["ns"]
    for context in {row["context"] for row in answer.sums}:
        assert sums[context] == sum(row["ns"] for row in answer.sums if row["context"] == context)
