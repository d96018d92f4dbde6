# Interval arithmetic: by hand, and against counting every nanosecond.

import numpy as np
import pytest

from netcost_analysis.coverage import joined, lost_of_cpus
from netcost_analysis.spans import Ints, Spans


def ints(*values: int) -> Ints:
    return np.array(values, dtype="int64")


def test_spans_within_stretches() -> None:
    spans = Spans(ints(1, 1, 2), ints(10, 30, 5), ints(20, 40, 50))
    asked = ints(1, 1, 1, 1, 2, 3)
    starts, ends = ints(0, 15, 12, 21, 0, 0), ints(100, 35, 18, 29, 10, 99)
    assert spans.within(asked, starts, ends).tolist() == [20, 10, 6, 0, 5, 0]
    assert Spans(*[ints()] * 3).within(asked, starts, ends).tolist() == [0] * 6


# Groups with and without spans, before, between and after those that there are.
@pytest.mark.parametrize("seed", range(20))
def test_spans_are_found_as_by_looking_at_each(seed: int) -> None:
    dice = np.random.default_rng(seed)
    count = int(dice.integers(0, 12))
    groups, starts = dice.integers(1, 6, count) * 2, dice.integers(0, 30, count)
    spans = Spans(groups, starts, starts + dice.integers(0, 12, count))
    rows = list(zip(spans.groups, spans.starts, spans.ends, strict=True))
    asked, times = dice.integers(0, 14, 200), dice.integers(-5, 50, 200)
    last = spans.last_begun(asked, times)
    first, after = spans.begun(asked, times)
    innermost = spans.innermost(asked, times, count)
    for number, (group, time) in enumerate(zip(asked, times, strict=True)):
        begun = [place for place, row in enumerate(rows) if row[0] == group and row[1] <= time]
        assert last[number] == max(begun, default=-1)
        assert list(range(first[number], after[number])) == begun
        held = [place for place in begun if rows[place][2] >= time]
        assert innermost[number] == max(held, default=-1)


def test_no_deeper_than_asked() -> None:
    nested = Spans(ints(0, 0, 0), ints(10, 20, 30), ints(90, 25, 35))
    assert nested.innermost(ints(0, 0), ints(40, 22), 3).tolist() == [0, 1]
    assert nested.innermost(ints(0, 0), ints(40, 22), 2).tolist() == [-1, 1]


def test_gaps_that_overlap_or_touch_are_one() -> None:
    gaps = [(30, 40), (5, 10), (0, 20), (20, 22)]
    assert joined(gaps) == [(0, 22), (30, 40)]
    rows = [{"cpu": 0, "start_ns": start, "end_ns": end} for start, end in gaps]
    rows += [{"cpu": 1, "start_ns": 90, "end_ns": 95}, {"cpu": 7, "start_ns": 0, "end_ns": 100}]
    # Of the window alone, and of the CPUs that are asked for.
    assert lost_of_cpus([0, 1, 2], rows, (8, 35)) == {0: 14 + 5, 1: 0, 2: 0}
