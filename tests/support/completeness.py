# One counter's row of what a recording missed.

from typing import Any

import pandas as pd

import netcost_analysis as netcost


def row(found: netcost.Completeness, counter: str, number: int | None = None) -> "pd.Series[Any]":
    rows = found.rows[found.rows["counter"] == counter]
    rows = rows[rows["cpu"].isna() if number is None else rows["cpu"] == number]
    assert len(rows) == 1
    return rows.iloc[0]
