# Sums by codes of names are those of pandas, to the last digit.

import numpy as np
import pandas as pd
import pytest

from netcost_analysis.stats import grouped
from netcost_analysis.stats.grouped import is_any, sums_by

ROWS = 2_000


def rows() -> pd.DataFrame:
    random = np.random.default_rng(1)
    names = pd.Categorical.from_codes(random.integers(-1, 3, ROWS), ["eth0", "lo", "none has it"])
    tid = pd.array(random.integers(0, 4, ROWS), dtype="Int64")
    tid[random.random(ROWS) < 0.1] = pd.NA
    return pd.DataFrame({"device": names, "tid": tid, "cpu": random.integers(0, 3, ROWS)})


# As many as would not be numbered apart by 64 bits are numbered in between.
@pytest.mark.parametrize("widest", [2**62, 50, 1])
@pytest.mark.parametrize("keys", [["device"], ["device", "tid", "cpu"]])
def test_sums_are_those_of_groupby(
    keys: list[str], widest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouped, "_WIDEST", widest)
    table = rows()
    # Of which a float holds no sum.
    ns = np.random.default_rng(2).integers(-(2**50), 2**52, ROWS)
    found = sums_by(table[keys], {"ns": ns, "share": np.full(ROWS, 0.5)})
    plain = table.astype({"device": object})
    wanted = plain.assign(ns=ns, share=0.5).groupby(keys, dropna=False)[["ns", "share"]].sum()
    found = found.groupby(level=keys, dropna=False).sum()
    pd.testing.assert_frame_equal(found, wanted, check_index_type=False)


def test_no_rows_have_no_sums() -> None:
    found = sums_by(rows()[:0][["device", "cpu"]], {"ns": np.zeros(0, dtype="int64")})
    assert found.index.names == ["device", "cpu"]
    assert not len(found)


def test_which_names_are_among_some() -> None:
    devices = rows()["device"]
    wanted = devices.astype(object).isin(["lo", "nobody"]).tolist()
    assert is_any(devices, ("lo", "nobody")).tolist() == wanted
    assert is_any(devices.astype(object), ("lo", "nobody")).tolist() == wanted
