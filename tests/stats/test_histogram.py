# Quantiles of counts: as exact as the values while each is counted, within 1 % where bins are.

from typing import Any

import numpy as np
import pandas as pd
import pytest

from netcost_analysis.stats.histogram import QUANTILES, Histogram, narrowed, quantile, spread_of

KEYS = ["tid", "why"]


# Lengths of tasks, some of whom have no number.
def drawn(count: int) -> pd.DataFrame:
    draw = np.random.default_rng(1)
    tids = pd.Series(draw.integers(0, 5, count), dtype="Int64").mask(draw.random(count) < 0.1)
    values = draw.lognormal(9, 2, count).astype("int64")
    return pd.DataFrame({"tid": tids, "why": draw.choice(["a", "b"], count), "value": values})


# As native makes one: bins of 128 to an octave where wanted.
def histogram(rows: pd.DataFrame, keys: list[str], binned: bool = False) -> Histogram:
    value = rows["value"]
    width = 2 ** np.maximum(np.floor(np.log2(value.clip(lower=1))) - 7, 0).astype("int64")
    low = value // width * width if binned else value
    rows = rows.assign(low=low, high=low + (width - 1 if binned else 0))
    counts = rows.groupby([*keys, "low", "high"], dropna=False).agg(count=("value", "size"))
    totals = rows.groupby(keys, dropna=False)["value"]
    return Histogram(counts, totals.agg(count="size", total="sum", least="min", most="max"), binned)


# What pandas says of all values at once.
def expected(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    groups = rows.groupby(keys, dropna=False)["value"]
    quantiles: dict[str, Any] = {name: groups.quantile(at) for name, at in QUANTILES.items()}
    return pd.DataFrame({"mean_ns": groups.mean(), **quantiles, "longest_ns": groups.max()})


@pytest.mark.parametrize("keys", [KEYS, ["why"]])
def test_quantiles_are_those_of_pandas(keys: list[str]) -> None:
    rows = drawn(20_000)
    wanted = expected(rows, keys)
    found = spread_of(histogram(rows, keys))
    pd.testing.assert_frame_equal(found, wanted, check_exact=True, check_dtype=False)
    off = ((spread_of(histogram(rows, keys, binned=True)) - wanted) / wanted).abs().max()
    assert off[["mean_ns", "longest_ns"]].max() == 0
    assert 0 < off.max() < 0.01


def test_a_part_has_the_quantiles_of_its_rows() -> None:
    rows = drawn(5_000)
    part = narrowed(histogram(rows, KEYS), ["tid"], {"why": "b"})
    wanted = expected(rows[rows["why"] == "b"], ["tid"])
    pd.testing.assert_frame_equal(spread_of(part), wanted, check_exact=True, check_dtype=False)


def test_a_quantile_is_never_beyond_what_occurred() -> None:
    rows = pd.DataFrame({"key": 1, "value": [1_000_001, 1_000_002, 1_000_003]})
    found = histogram(rows, ["key"], binned=True)
    assert len(found.counts) == 1
    for at in (0, 0.5, 1):
        assert 1_000_001 <= quantile(found, at)[1] <= 1_000_003
    assert spread_of(histogram(rows[:0], ["key"])).empty
