# A live recording of this machine, read by us and by perf's own tools.

import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from netcost_analysis._native import Capture
from support.live import record
from support.native_tables import Answer, assert_conserved, rows
from support.oracle import Seen, perf_handler, perf_kwork, perf_script_counts, perf_timehist
from support.perfdata.tracepoints import ACTIONS

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def seen(live: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Seen]:
    return perf_handler(live, tmp_path_factory.mktemp("handler"))


@pytest.fixture(scope="module")
def answer(live: Path) -> Answer:
    return Answer(live)


def test_the_recording_is_worth_comparing(answer: Answer) -> None:
    counts = answer.scan["events"]
    assert counts["irq:softirq_entry"] > 100
    assert counts["napi:napi_poll"] > 100
    assert counts["sched:sched_switch"] > 100


def test_counts_per_event_equal_perf_script(live: Path, answer: Answer) -> None:
    counts = {name: count for name, count in answer.scan["events"].items() if count}
    assert counts == perf_script_counts(live)


# The handler of perf 6.1 hands integers over without extending their sign.
def unsigned(value: Any) -> Any:
    return value % 2**64 % 2**32 if isinstance(value, int) and -(2**31) <= value < 0 else value


def flat(events: list[Seen]) -> Counter[tuple[Any, ...]]:
    return Counter(
        (
            one.time,
            one.cpu,
            one.pid,
            *(
                (name, unsigned(one.fields[name]))
                for name in sorted(one.fields)
                if name != "common_comm"
            ),
        )
        for one in events
    )


def test_raw_fields_equal_those_of_a_perf_script_handler(live: Path, seen: list[Seen]) -> None:
    theirs: defaultdict[str, list[Seen]] = defaultdict(list)
    for one in seen:
        theirs[one.event].append(one)
    tables = {name: rows(table) for name, table in Capture(str(live)).all_events().items()}
    compared = 0
    for event, wanted in theirs.items():
        names = set(wanted[0].fields) - {"common_comm"}
        # perf's handler knows no type and no padding among the common fields.
        mine = [
            Seen(
                *(event, row["time_ns"], row["common_cpu"], row["common_pid"]),
                {
                    name: int(row[name]) if isinstance(row[name], bool) else row[name]
                    for name in names
                },
            )
            for row in tables[event]
        ]
        assert flat(mine) == flat(wanted), event
        compared += len(mine)
    assert compared == sum(len(table) for table in tables.values())
    assert compared > 1000


def test_all_events_are_the_single_tables(live: Path) -> None:
    capture = Capture(str(live))
    for name, table in capture.all_events().items():
        assert pa.table(table).equals(pa.table(capture.events(name))), name


# perf kwork takes exit minus entry, nested interrupts included, over pairs that it saw whole.
def test_softirqs_and_hardirqs_agree_with_perf_kwork(live: Path, answer: Answer) -> None:
    mine: dict[tuple[str, int, int], list[int]] = {}

    def count(name: str, number: int, row: dict[str, Any]) -> None:
        if row["entry_ns"] is not None and row["exit_ns"] is not None:
            cell = mine.setdefault((name, number, row["cpu"]), [0, 0])
            cell[0] += row["exit_ns"] - row["entry_ns"]
            cell[1] += 1

    for row in answer.softirqs:
        count(f"(s){ACTIONS[row['vec']]}", row["vec"], row)
    for row in answer.hardirqs:
        if row["context"] == "hardirq":
            count(row["name"], row["irq"], row)
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


def test_a_live_capture_conserves(answer: Answer) -> None:
    assert_conserved(answer)


# The ledger's check against the flags and pids finds the missing switches and nothing else, the
# edges aside, where events are switched on and off one at a time.
@pytest.mark.measures
def test_disagreements_are_the_missing_switches(answer: Answer, chain: Chain) -> None:
    # A switch that perf wrote twice breaks the chain of what it printed, and not the ledger's.
    repeats = 2 * answer.summary["repeats_dropped"]
    edges = 6 * len(answer.summary["cpus"])
    assert chain.breaks - repeats - edges <= answer.summary["disagreements"] <= chain.breaks + edges


def test_windows_of_a_live_capture_conserve(live: Path, answer: Answer) -> None:
    start, end = answer.window
    third = (end - start) // 3
    edges = [start, start + third, start + 2 * third, end]
    parts = [Answer(live, start_ns=a, end_ns=b) for a, b in itertools.pairwise(edges)]
    for part in parts:
        assert_conserved(part)
    for context in {row["context"] for row in answer.sums}:
        whole = sum(row["ns"] for row in answer.sums if row["context"] == context)
        assert whole == sum(
            row["ns"] for part in parts for row in part.sums if row["context"] == context
        )


# The same load in every container that this perf can write: each is read in full.
@pytest.mark.parametrize("options", [("-z",), ("--threads=cpu",), ("-B", "-N")])
def test_other_ways_to_record_are_read_in_full(tmp_path: Path, options: tuple[str, ...]) -> None:
    path = record(tmp_path / "perf.data", *options, seconds=0.2)
    got = Answer(path)
    assert {
        name: count for name, count in got.scan["events"].items() if count
    } == perf_script_counts(path)
    assert_conserved(got)
