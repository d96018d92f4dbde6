# Groups in a few figures, by hand.

import pandas as pd

from netcost_analysis.stats.quantiles import spread


def test_the_spread_of_groups() -> None:
    ns = pd.Series([*range(101), 7], dtype="Int64")
    rows = pd.DataFrame({"of": ["a"] * 101 + ["b"], "ns": ns.where(ns != 100)})
    found = spread(rows.groupby("of")["ns"])
    # 0 to 99: one of the 101 is not known.
    assert found.loc["a"].round(2).tolist() == [49.5, 49.5, 89.1, 98.01, 99]
    assert found.loc["b"].tolist() == [7] * 5
    assert list(found) == ["mean_ns", "median_ns", "p90_ns", "p99_ns", "longest_ns"]
    assert spread(rows[:0].groupby("of")["ns"]).empty
