# Histograms of many captures as one: counts and sums of each bin, added up.

from typing import TYPE_CHECKING, Literal

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...errors import ArgumentError, LackingError, no_such
from ...fleet import Fleet
from .capture_costs import COLUMNS, UNKNOWN, capture_costs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

By = Literal["all", "host", "kernel", "device", "driver"]
_BY = ("all", *COLUMNS)


def _require(fleet: Fleet, histogram: str) -> None:
    if not (fleet.histograms["histogram"] == histogram).any():
        raise LackingError("captures", f"no capture of {fleet.path} has what this is about")


@question(
    topic="fleet",
    check=lambda fleet: _require(fleet, "poll_packets"),
    columns=("group", "device", "work", "polls", "ns"),
    rows=0,
)
def fleet_poll_sizes(fleet: Fleet, captures_by: By = "kernel") -> Answer:
    """Packets per poll in all captures together: exact sums of their histograms.

    A row per group, device and work. By "device" captures are grouped by the polls' own device, not
    by their busiest device. Source: the fleet's histograms, of poll_sizes of each capture.
    """
    names = {"of": "device", "low": "work", "count": "polls"}
    frame = _merged(fleet, "poll_packets", captures_by).rename(columns=names).drop(columns="high")
    return Answer(frame, by_group=_groups(frame, "polls", "work"))


@question(
    topic="fleet",
    check=lambda fleet: _require(fleet, "softirq_ns"),
    columns=("group", "action", "length_low_ns", "length_high_ns", "softirqs", "ns"),
    rows=0,
)
def fleet_softirq_lengths(fleet: Fleet, captures_by: By = "kernel") -> Answer:
    """How long softirqs ran in all captures together: exact sums of their histograms.

    A row per group, action and bin of softirq_lengths. `by_group` is of NET_RX. Source: the fleet's
    histograms, of softirq_lengths of each capture.
    """
    names = {"of": "action", "low": "length_low_ns", "high": "length_high_ns", "count": "softirqs"}
    frame = _merged(fleet, "softirq_ns", captures_by).rename(columns=names)
    by_group = _groups(_net_rx(frame), "softirqs", "length_high_ns")
    ends = {name: f"{name}_within_ns" for name in ("half", "most", "nearly_all")}
    return Answer(frame, by_group=by_group.rename(columns=ends))


def _merged(fleet: Fleet, histogram: str, by: str) -> pd.DataFrame:
    # A row per group, of and bin: group, of, low, high, count, ns.
    if by not in _BY:
        raise ArgumentError(no_such("captures_by", by, _BY))
    rows = fleet.histograms[fleet.histograms["histogram"] == histogram]
    if by == "all":
        rows = rows.assign(group="all captures")
    elif by == "device" and histogram == "poll_packets":
        rows = rows.assign(group=rows["of"])
    else:
        known = capture_costs(fleet).set_index("path")[COLUMNS[by]]
        rows = rows.assign(group=rows["path"].map(known).fillna(UNKNOWN))
    sums = rows.groupby(["group", "of", "low", "high"])[["count", "ns"]].sum()
    return sums.astype("int64").reset_index()


def _groups(frame: pd.DataFrame, counted: str, value: str) -> pd.DataFrame:
    # Of each group: how many, and below which value half, nine tenths and 99 of 100 are.
    counts = frame.groupby(["group", value])[counted].sum().reset_index()
    by_group = counts.groupby("group")[counted]
    reached = by_group.cumsum() / by_group.transform("sum")
    ends = {
        name: counts[reached >= share].groupby("group")[value].first()
        for name, share in (("half", 0.5), ("most", 0.9), ("nearly_all", 0.99))
    }
    return pd.DataFrame({counted: by_group.sum(), **ends}).reset_index()


def _net_rx(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["action"] == "NET_RX"]


def _drawn(answer: Answer, counted: str) -> list[str]:
    # Those with most, at most as many as a picture tells apart.
    return list(map(str, answer["by_group"].nlargest(6, counted)["group"]))


@fleet_poll_sizes.plot(title="Packets per poll, of all captures together", height=2.8)
def _plot_sizes(ax: "Axes", answer: Answer) -> None:
    from .plots import sizes

    sizes(ax, answer.frame, _drawn(answer, "polls"))


@fleet_softirq_lengths.plot(
    title="Own time of NET_RX softirqs, of all captures together",
    height=2.8,
    panels=lambda answer: [{}] if len(answer["by_group"]) else [],
)
def _plot_lengths(ax: "Axes", answer: Answer) -> None:
    from ...plots.lengths import lengths

    rows = _net_rx(answer.frame)
    groups = {one: rows[rows["group"] == one] for one in _drawn(answer, "softirqs")}
    lengths(ax, groups, "softirqs")
