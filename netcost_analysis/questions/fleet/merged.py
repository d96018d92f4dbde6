# Histograms of many captures as one: counts and sums of each bin, added up.

from typing import TYPE_CHECKING, Literal

import pandas as pd

from ...errors import ArgumentError, LackingError, no_such
from ...fleet.fleet import Fleet
from .measured import COLUMNS, UNKNOWN, measured

if TYPE_CHECKING:
    from ...answers.answer import Answer

By = Literal["all", "host", "kernel", "device", "driver"]
BY = ("all", *COLUMNS)


def require_histogram(fleet: Fleet, name: str) -> None:
    # Raises LackingError where no capture has that.
    if not (fleet.histograms["histogram"] == name).any():
        raise LackingError("captures", f"no capture of {fleet.path} has what this is about")


def merged(fleet: Fleet, histogram: str, by: str) -> pd.DataFrame:
    # A row per group, of and bin: group, of, low, high, count, ns. Of "device" the group is what
    # the histogram itself is of.
    if by not in BY:
        raise ArgumentError(no_such("captures_by", by, BY))
    rows = fleet.histograms[fleet.histograms["histogram"] == histogram]
    rows = rows[["path", "of", "low", "high", "count", "ns"]]
    if by == "all":
        rows = rows.assign(group="all captures")
    elif by == "device" and histogram == "poll_packets":
        rows = rows.assign(group=rows["of"])
    else:
        known = measured(fleet).set_index("path")[COLUMNS[by]]
        rows = rows.assign(group=rows["path"].map(known).fillna(UNKNOWN))
    keys = ["group", "of", "low", "high"]
    return rows.groupby(keys)[["count", "ns"]].sum().astype("int64").reset_index()


def groups_of(frame: pd.DataFrame, counted: str, value: str) -> pd.DataFrame:
    # Of each group: how many, and below which value half, nine tenths and 99 of 100 are.
    rows = []
    for group, of in frame.groupby("group", sort=True):
        counts = of.groupby(value)[counted].sum()
        reached = counts.cumsum() / counts.sum()
        ends = {
            name: int(reached.index[int((reached < share).sum())])
            for name, share in (("half", 0.5), ("most", 0.9), ("nearly_all", 0.99))
        }
        rows.append({"group": group, counted: int(counts.sum()), **ends})
    return pd.DataFrame(rows, columns=["group", counted, "half", "most", "nearly_all"])


def groups(answer: "Answer") -> list[str]:
    # Those with most, at most as many as a picture tells apart.
    counts = answer.tables["by_group"]
    return list(map(str, counts.nlargest(6, counts.columns[1])["group"]))
