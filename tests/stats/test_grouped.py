# Rows are numbered as they differ in their keys.

import numpy as np
import pandas as pd
import pytest

from netcost_analysis.stats import grouped
from netcost_analysis.stats.grouped import told_apart

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
def test_a_number_has_its_rows_keys(
    keys: list[str], widest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouped, "_WIDEST", widest)
    table = rows()[keys]
    number, known = told_apart(table)
    assert not known.duplicated().any()
    wanted = table.astype({"device": object})
    pd.testing.assert_frame_equal(known.take(number).reset_index(drop=True), wanted)


def test_no_rows_have_no_numbers() -> None:
    number, known = told_apart(rows()[:0][["device", "cpu"]])
    assert (len(number), list(known)) == (0, ["device", "cpu"])
