# Counts of values: as exact as the values while these are few, and off by less than 1 % when not.

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as some

from netcost_analysis.stats import histogram as module
from netcost_analysis.stats.histogram import (
    QUANTILES,
    Histogram,
    histogram,
    merged,
    spread_of,
    told_apart,
)

DRAWN = np.random.default_rng(1)


def drawn(count: int) -> "tuple[pd.Series[int], pd.DataFrame]":
    # Lengths of tasks, some of whom have no number.
    values = pd.Series(DRAWN.lognormal(9, 2, count).astype("int64"))
    tids = pd.Series(DRAWN.integers(0, 5, count), dtype="Int64").mask(DRAWN.random(count) < 0.1)
    return values, pd.DataFrame({"tid": tids, "why": DRAWN.choice(["a", "b"], count)})


# What pandas says of all values at once.
def expected_of(values: "pd.Series[int]", keys: pd.DataFrame) -> pd.DataFrame:
    groups = values.groupby([keys["tid"], keys["why"]], dropna=False)
    quantiles = {name: groups.quantile(at) for name, at in QUANTILES.items()}
    return pd.DataFrame({"mean_ns": groups.mean(), **quantiles, "longest_ns": groups.max()})


def in_parts(
    values: "pd.Series[int]", keys: pd.DataFrame, size: int, most_values: int
) -> Histogram:
    found = None
    for at in range(0, len(values), size):
        part = histogram(values[at : at + size], keys[at : at + size], most_values)
        found = merged(found, part, most_values)
    assert found is not None
    return found


def test_few_values_are_told_as_pandas_tells_them() -> None:
    values, keys = drawn(5_000)
    expected = expected_of(values, keys)
    for size in (5_000, 777, 31):
        found = in_parts(values, keys, size, 100_000)
        assert not found.is_binned
        pd.testing.assert_frame_equal(spread_of(found), expected, check_exact=True)


def test_many_values_are_told_within_a_percent() -> None:
    values, keys = drawn(50_000)
    expected = expected_of(values, keys)
    found = in_parts(values, keys, 777, 1_000)
    assert found.is_binned
    assert len(found.counts) < 20_000
    off = ((spread_of(found) - expected) / expected).abs().max()
    assert off[["mean_ns", "longest_ns"]].max() == 0
    assert off.max() < 0.01


# Where values were dealt into parts changes nothing, before and after there are too many.
@given(
    some.lists(some.integers(0, 2**62), min_size=1, max_size=60),
    some.integers(1, 60),
    some.sampled_from([5, 20, 1_000]),
)
def test_parts_make_no_difference(values: list[int], size: int, most_values: int) -> None:
    # Sums of more would not fit into 64 bits.
    column = pd.Series(values, dtype="int64") // 64
    keys = pd.DataFrame({"key": column % 3})
    whole, parts = histogram(column, keys, most_values), in_parts(column, keys, size, most_values)
    assert whole.is_binned == parts.is_binned
    pd.testing.assert_frame_equal(whole.counts, parts.counts)
    pd.testing.assert_frame_equal(whole.totals, parts.totals)


def test_a_quantile_is_never_beyond_what_occurred() -> None:
    values = pd.Series([1_000_001, 1_000_002, 1_000_003], dtype="int64")
    found = histogram(values, pd.DataFrame({"key": [1, 1, 1]}), 2)
    assert found.is_binned
    said = spread_of(found)[["median_ns", "p90_ns", "p99_ns"]].to_numpy()
    assert said.min() >= 1_000_001
    assert said.max() <= 1_000_003


def test_nothing_is_merged_with_nothing() -> None:
    one, key = pd.Series([3]), pd.DataFrame({"key": [1]})
    none = histogram(one[:0], key[:0])
    assert not len(spread_of(none))
    both = merged(none, histogram(one, key))
    assert spread_of(both).loc[1, "median_ns"] == pytest.approx(3)


def rows() -> pd.DataFrame:
    random = np.random.default_rng(1)
    names = pd.Categorical.from_codes(random.integers(-1, 3, 2_000), ["eth0", "lo", "none has it"])
    tid = pd.array(random.integers(0, 4, 2_000), dtype="Int64")
    tid[random.random(2_000) < 0.1] = pd.NA
    return pd.DataFrame({"device": names, "tid": tid, "cpu": random.integers(0, 3, 2_000)})


# As many as would not be numbered apart by 64 bits are numbered in between.
@pytest.mark.parametrize("widest", [2**62, 50, 1])
@pytest.mark.parametrize("keys", [["device"], ["device", "tid", "cpu"]])
def test_a_number_has_its_rows_keys(
    keys: list[str], widest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WIDEST", widest)
    table = rows()[keys]
    number, known = told_apart(table)
    assert not known.duplicated().any()
    wanted = table.astype({"device": object})
    pd.testing.assert_frame_equal(known.take(number).reset_index(drop=True), wanted)


def test_no_rows_have_no_numbers() -> None:
    number, known = told_apart(rows()[:0][["device", "cpu"]])
    assert (len(number), list(known)) == (0, ["device", "cpu"])
