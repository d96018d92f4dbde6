# One counter's row of what a recording missed.

import re
from typing import Any

import pandas as pd


def row(found: Any, counter: str, number: int | None = None) -> "pd.Series[Any]":
    rows = found.rows[found.rows["counter"] == counter]
    rows = rows[rows["cpu"].isna() if number is None else rows["cpu"] == number]
    assert len(rows) == 1
    return rows.iloc[0]


# What the verdict's line names as missing: percent, counter and CPU of each.
def named(verdict: str) -> list[tuple[str, str, str]]:
    return re.findall(r"([\d.]+) % of (?:interrupt )?(\w+)(?: on CPU (\d+))?", verdict)
