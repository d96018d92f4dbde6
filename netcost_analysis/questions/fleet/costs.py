# What captures that share a host, a kernel, a device or a driver come to: costs, and histograms as
# one, whose bins' counts and sums add up.

from typing import Any, Literal

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import Axes, Question, question
from ...errors import ArgumentError, LackingError, no_such
from ...fleet import Fleet
from ...plots.palette import FAINT, INK, KIND, path_colors, time_unit
from .captures import (
    COLUMNS,
    LONGEST,
    SUMS,
    UNKNOWN,
    capture_costs,
    command_for,
    ratios,
    require_answers,
)

_FIGURES = (
    *("captures", "hosts", "packets", "network_cpu_share", "stolen_of_tasks_share"),
    *("ns_per_work", "batch_mean", "squeezed_share", "lowest_ns_per_work"),
    *("highest_ns_per_work", "dearest", "command"),
)
_MAX_ROWS = 20
_SHOWN = (
    *("captures", "ns_per_work", "stolen_of_tasks_share", "network_cpu_share"),
    *("batch_mean", "highest_ns_per_work", "dearest", "squeezed_share"),
)


def _costs(fleet: Fleet, by: str) -> Answer:
    rows = capture_costs(fleet).sort_values("ns_per_work", ascending=False, kind="stable")
    # A ratio of sums is of the captures that know both parts of it.
    for pair in (["stolen_network_ns", "on_cpu_ns"], ["squeezes_low", "with_polls"]):
        rows[pair] = rows[pair].where(rows[pair].notna().all(axis=1))
    groups = rows.groupby(by)
    prices = groups["ns_per_work"]
    frame = ratios(groups[SUMS].sum(min_count=1)).assign(
        captures=groups.size(),
        hosts=groups["hostname"].nunique(),
        lowest_ns_per_work=prices.min(),
        highest_ns_per_work=prices.max(),
        dearest=groups["path"].first(),
    )
    frame["command"] = frame["dearest"].map(command_for)
    frame = frame.sort_values("ns_per_work", ascending=False, kind="stable").reset_index()
    priced = frame[frame["ns_per_work"].notna()]
    stolen = frame["stolen_of_tasks_share"].dropna().nlargest(1)
    ends = pd.concat(
        {"dearest": priced[:1], "cheapest": priced[-1:], "most stolen": frame.loc[stolen.index]},
        names=["end"],
    )
    ends = ends.reset_index("end").rename(columns={by: "named"})
    columns = ["end", "named", "ns_per_work", "stolen_of_tasks_share"]
    return Answer(frame[[by, *_FIGURES]], ends=ends[columns].reset_index(drop=True))


def _costs_by(name: str, column: str, row: str) -> Question[[Fleet]]:
    # The question of what captures cost that share a column. row: what a row is of.
    def costs(fleet: Fleet) -> Answer:
        return _costs(fleet, column)

    costs.__name__ = f"by_{name}"
    summary = f"What networking costs by {name}: share stolen from tasks, time per packet, batches."
    costs.__doc__ = f"""{summary}

    A row per {row}, the most expensive packets first. Shares and costs are ratios of sums over the
    captures. A capture counts for its busiest device, the one with most packets, because one packet
    may pass several devices. Source: the fleet's answers and devices.
    """
    made = question(topic="fleet", check=require_answers, rows=40, columns=(column, *_SHOWN))(costs)

    @made.plot(
        title=f"CPU time of a packet, by {name}",
        height=lambda answer: 0.9 + 0.33 * min(len(answer.frame), _MAX_ROWS),
        panels=lambda answer: [{}] if answer.frame["ns_per_work"].notna().any() else [],
    )
    def _plot(ax: Axes, answer: Answer) -> None:
        from ...plots.marks import label_rows, short

        rows = answer.frame[answer.frame["ns_per_work"].notna()][:_MAX_ROWS]
        scale, unit = time_unit(float(rows["highest_ns_per_work"].max()))
        prices = rows.filter(like="ns_per_work") / scale
        lowest, highest = prices["lowest_ns_per_work"], prices["highest_ns_per_work"]
        ax.barh(range(len(rows)), prices["ns_per_work"], 0.62, color=KIND["poll"])
        ax.hlines(range(len(rows)), lowest, highest, color=INK, linewidth=1.1)
        label_rows(ax, [short(one, LONGEST) for one in rows[column]])
        ax.set_xlim(left=0)
        ax.set_xlabel(f"CPU time of a packet, {unit}; line: cheapest to most expensive capture")
        ax.grid(axis="x")

    return made


by_host = _costs_by("host", "hostname", "host")
by_kernel = _costs_by("kernel", "kernel", "kernel")
by_device = _costs_by("device", "device", "name of a device")
by_driver = _costs_by("driver", "driver", "driver")


By = Literal["all", "host", "kernel", "device", "driver"]
_BY = ("all", *COLUMNS)


def _require(fleet: Fleet, histogram: str) -> None:
    if not (fleet.histograms["histogram"] == histogram).any():
        raise LackingError(
            "captures", f"no capture of {fleet.path} has the histogram that this needs"
        )


@question(
    topic="fleet",
    check=lambda fleet: _require(fleet, "poll_packets"),
    columns=("group", "device", "work", "polls", "ns"),
    rows=0,
)
def fleet_poll_sizes(fleet: Fleet, captures_by: By = "kernel") -> Answer:
    """Packets per poll in all captures together: exact sums of their histograms.

    A row per group, device and work. By "device" captures are grouped by the polls' own device, not
    by their busiest device. Source: the fleet's histograms, from poll_sizes of each capture.
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

    A row per group, action and bin of softirq_lengths. `by_group` covers NET_RX. Source: the
    fleet's histograms, from softirq_lengths of each capture.
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


@fleet_poll_sizes.plot(title="Packets per poll, over all captures", height=2.8)
def _plot_sizes(ax: Axes, answer: Answer) -> None:
    # Of each group the share of its polls that had a packet count or fewer.
    from ...plots.marks import legend_above, short

    groups = _drawn(answer, "polls")
    colors = path_colors(groups)
    for group in groups:
        polls = answer.frame[answer.frame["group"] == group].groupby("work")["polls"].sum()
        look: dict[str, Any] = {"color": colors[group], "label": short(group, LONGEST)}
        ax.step(polls.index, polls.cumsum() / polls.sum(), where="post", **look)
    ax.set_ylim(0, 1.02)
    ax.set_xlim(left=0)
    ax.set_xlabel("packets in a poll, or fewer")
    ax.set_ylabel("share of the polls")
    ax.grid(axis="y", color=FAINT, alpha=0.3)
    legend_above(ax, None, 4)


@fleet_softirq_lengths.plot(
    title="Own time of NET_RX softirqs, over all captures",
    height=2.8,
    panels=lambda answer: [{}] if len(answer["by_group"]) else [],
)
def _plot_lengths(ax: Axes, answer: Answer) -> None:
    from ...plots.softirqs import lengths

    rows = _net_rx(answer.frame)
    groups = {one: rows[rows["group"] == one] for one in _drawn(answer, "softirqs")}
    lengths(ax, groups, "softirqs")
