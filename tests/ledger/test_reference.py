# The native ledger against the slow one, on well-formed timelines that a machine thought up.

from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.host import Fresh, examples
from support.narrator import recordings
from support.native_tables import Answer, assert_conserved, by, joined
from support.perfdata import Recording
from support.reference_ledger import Ledger, reference

COLUMNS = ("context", "tid", "id", "napi", "cost_class")


def check_segments(got: Answer, wanted: Ledger) -> None:
    for cpu in wanted.cells:
        mine = [
            (cpu, row["start_ns"], row["end_ns"], *(row[name] for name in COLUMNS))
            for row in joined(got.on(cpu), COLUMNS)
        ]
        assert mine == [row for row in wanted.segments() if row[0] == cpu]


def check_softirqs(got: Answer, wanted: Ledger) -> None:
    columns = ("cpu", "entry_ns", "exit_ns", "vec", "tid", "origin", "cost_class", "self_ns")
    mine = sorted(
        tuple(row[name] for name in (*columns, "polls", "packets")) for row in got.softirqs
    )
    theirs = sorted(
        tuple(getattr(row, name) for name in (*columns, "polls", "packets"))
        for row in wanted.softirqs
    )
    assert mine == theirs


def check_polls(got: Answer, wanted: Ledger) -> None:
    columns = ("cpu", "start_ns", "end_ns", "napi", "device", "work", "budget", "tid", "self_ns")

    def key(row: Any) -> Any:
        return tuple(str(one) for one in row)

    mine = sorted((tuple(row[name] for name in columns) for row in got.polls), key=key)
    theirs = sorted(
        (tuple(getattr(row, name) for name in columns) for row in wanted.polls), key=key
    )
    assert mine == theirs


# Idle is no victim: its stays are not compared, nor those that took no time.
def check_slices(got: Answer, wanted: Ledger) -> None:
    mine = sorted(
        (
            *(row["cpu"], row["tid"], row["in_ns"], row["out_ns"]),
            sorted((name, row[name]) for name in row if is_part(name) and row[name]),
        )
        for row in got.slices
        if row["tid"] and row["out_ns"] > row["in_ns"]
    )
    theirs = sorted(
        (row.cpu, row.tid, row.in_ns, row.out_ns, sorted(row.parts.items()))
        for row in wanted.slices
        if row.tid and row.out_ns > row.in_ns
    )
    assert mine == theirs


def is_part(name: str) -> bool:
    if name in ("task_ns", "hardirq_ns", "poll_ns", "unknown_ns"):
        return True
    return name.startswith("softirq_") and name != "softirq_ns"


def check(told: Recording, path: Path, mode: str = "file") -> None:
    got, wanted = Answer(told.write(path, mode)), reference(told)
    assert got.window == (wanted.start_ns, wanted.end_ns)
    assert_conserved(got)
    assert got.summary["disagreements"] == 0
    check_segments(got, wanted)
    check_softirqs(got, wanted)
    check_polls(got, wanted)
    check_slices(got, wanted)
    sums = by(got.sums, ("cpu", "tid", "context", "id"), lambda row: row["ns"])
    assert sums == wanted.sums()


@examples(40)
@given(recordings(), st.sampled_from(["file", "pipe"]))
def test_the_ledger_agrees_with_the_reference(fresh: Fresh, told: Recording, mode: str) -> None:
    check(told, fresh() / "perf.data", mode)


@examples(40)
@given(recordings(realtime=True))
def test_the_ledger_agrees_with_the_reference_under_preempt_rt(
    fresh: Fresh, told: Recording
) -> None:
    check(told, fresh() / "perf.data")


# (cpu, tid, context, id) of the reference's cells from start to end.
def cell_sums(wanted: Ledger, start: int, end: int) -> Counter[tuple[Any, ...]]:
    result: Counter[tuple[Any, ...]] = Counter()
    for cpu, cells in wanted.cells.items():
        for owner in cells[start - wanted.start_ns : end - wanted.start_ns]:
            result[(cpu, owner.tid, owner.context, owner.id)] += 1
    return result


SUM_OWNER = ("cpu", "tid", "context", "id")


@examples(40)
@given(recordings(), st.floats(0, 1), st.floats(0, 1))
def test_a_window_is_the_reference_cut_out(
    fresh: Fresh, told: Recording, one: float, other: float
) -> None:
    wanted = reference(told)
    length = wanted.end_ns - wanted.start_ns
    start, end = sorted(wanted.start_ns + round(share * length) for share in (one, other))
    path = told.write(fresh() / "perf.data")
    got = Answer(path, start_ns=start, end_ns=end)
    assert got.window == (start, end)
    assert_conserved(got)
    assert by(got.sums, SUM_OWNER, lambda row: row["ns"]) == cell_sums(wanted, start, end)


@examples(40)
@given(recordings(), st.sampled_from([1, 7, 100, 1000, 10**9]))
def test_bins_are_the_reference_cut_up(fresh: Fresh, told: Recording, width: int) -> None:
    wanted = reference(told)
    path = told.write(fresh() / "perf.data")
    got = Answer(path, [], bin_ns=width)
    bins = {row["bin_ns"] for row in got.sums}
    for start in bins:
        inside = (max(start, wanted.start_ns), min(start + width, wanted.end_ns))
        mine = [row for row in got.sums if row["bin_ns"] == start]
        assert by(mine, SUM_OWNER, lambda row: row["ns"]) == cell_sums(wanted, *inside)
    assert sum(row["ns"] for row in got.sums) == len(wanted.cells) * (
        wanted.end_ns - wanted.start_ns
    )


@examples(40)
@given(recordings(), st.integers(0, 2))
def test_one_cpu_alone_is_its_part_of_the_whole(fresh: Fresh, told: Recording, number: int) -> None:
    path = told.write(fresh() / "perf.data")
    if number not in {one.number for one in told.cpus}:
        number = 0
    whole, alone = Answer(path), Answer(path, cpus=[number])
    assert alone.window == whole.window
    assert alone.segments == whole.on(number)
    assert alone.softirqs == whole.on(number, "softirqs")
    assert_conserved(alone)
