# What the rows of the tables are told apart by, as plain columns.

from typing import Literal, get_args

import pandas as pd

TaskBy = Literal["tid", "comm", "cpu"]
NOBODY = "(unknown)"


def task_keys(by: str) -> list[str]:
    if by not in get_args(TaskBy):
        raise ValueError(f"by={by!r}: one of {', '.join(get_args(TaskBy))}")
    return {"tid": ["tid", "comm"], "comm": ["comm"], "cpu": ["cpu"]}[by]


def plain(names: "pd.Series[str]") -> "pd.Series[str]":
    # Categories of different tables do not compare; and grouping would list those without rows.
    return names.astype(object).where(names.notna(), NOBODY)


def of_tasks(rows: pd.DataFrame) -> pd.DataFrame:
    # Without the idle task, which is one for each CPU, and without stretches of nobody known.
    return rows[(rows["tid"] != 0).fillna(False).to_numpy(dtype=bool)]
