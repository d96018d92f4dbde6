# NET_RX that stopped because its budget or its time was used up, and softnet_stat's own count.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...timeline.timeline import Timeline
from ..completeness.unrecorded import proved_softirqs
from ..inputs import rows as rows_of
from ..question import question
from .common import int64, net_rx, net_rx_softirqs, plain, records
from .kernel_limits import KernelLimits, limits_of
from .poll_sizes import work_known
from .softnet import compared, readings_of, with_missing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..answer import Answer

# So many CPUs are named.
_CPUS = 12


class Exhaustion(NamedTuple):
    """NET_RX softirqs that ran out of budget or time.

    Parameters
    ----------
    limits : KernelLimits
        What bounds them.
    by_cpu : pandas.DataFrame
        By CPU what the trace shows in the window.
    against_softnet : pandas.DataFrame
        The same between two readings of softnet_stat, beside what the kernel counted then: verdict
        ("agree", "explained", "differ", "unknown"), and why.
    """

    limits: KernelLimits
    by_cpu: pd.DataFrame
    against_softnet: pd.DataFrame


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit", "napi:napi_poll"),
    inputs=("softirqs", "polls"),
    main_columns=(
        "cpu",
        "squeezes_low",
        "squeezes_high",
        "with_polls",
        "by_budget",
        "softnet_squeezes",
        "verdict",
    ),
    rows=0,
)
def squeezes(
    timeline: Timeline,
    budget: int | None = None,
    usecs: int | None = None,
    hz: int | None = None,
) -> Exhaustion:
    """How often NET_RX stopped at a limit, and whether softnet_stat's time_squeeze agrees.

    Parameters
    ----------
    timeline : Timeline
        The window and the CPUs in question.
    budget : int, optional
        net.core.netdev_budget, in packets; None for the bundle's own.
    usecs : int, optional
        net.core.netdev_budget_usecs; None for the bundle's own.
    hz : int, optional
        CONFIG_HZ; None for the bundle's own.

    Returns
    -------
    Exhaustion
        Its columns are NA where the limits are unknown.

    Raises
    ------
    ArgumentError
        For a limit below 1.
    MissingEventsError
        Without one of the events it needs.

    Notes
    -----
    net_rx_action counts a squeeze when, after a poll, its packets have used the budget or its
    jiffies are over. When a jiffy begins is not recorded, so the count by time is a range. Source:
    softirqs and polls, the bundle's settings and softnet_stat.
    """
    limits = limits_of(timeline.capture, budget, usecs, hz)
    softirqs, polls = rows_of(timeline, "softirqs", "polls")
    rows = marked(softirqs, polls, limits)
    cpus = timeline.summary["cpus"]
    counted, why = readings_of(timeline)
    table = with_missing(by_cpu(rows, cpus), proved_softirqs(timeline.capture), "with_polls")
    return Exhaustion(limits, table, compared(rows, cpus, counted, why))


def marked(softirqs: pd.DataFrame, polls: pd.DataFrame, limits: KernelLimits) -> pd.DataFrame:
    # NET_RX with cpu, entry_ns, exit_ns, packets, polls, full (polls that used their budget), and
    # whether it was squeezed: budget, low, high (boolean, NA where the limits are unknown).
    rows = net_rx(softirqs)
    inside = plain(polls[polls["softirq_ordinal"].notna()])
    inside = inside.assign(
        ordinal=int64(inside["softirq_ordinal"]),
        full=(inside["work"] == inside["budget"]).fillna(False)
        & (inside["budget"] > 0).fillna(False),
    )
    groups = inside.groupby(["cpu", "ordinal"])
    last = pd.DataFrame({"last_ns": groups["end_ns"].max(), "full": groups["full"].sum()})
    last = last.reset_index().astype({"cpu": rows["cpu"].dtype, "ordinal": "int64"})
    rows = rows.merge(last, on=["cpu", "ordinal"], how="left")
    has_work = not len(polls) or bool(polls["work"].notna().any())
    # The check stands after a poll: a NET_RX without one is never squeezed.
    polled = rows["polls"] > 0
    elapsed = (rows["last_ns"] - rows["entry_ns"]).astype("Int64").fillna(0)
    longest = (rows["exit_ns"] - rows["entry_ns"]).astype("Int64")
    none = pd.Series(pd.NA, index=rows.index, dtype="boolean")
    by_budget = none
    if limits.netdev_budget is not None and has_work:
        by_budget = (polled & (rows["packets"] >= limits.netdev_budget)).astype("boolean")
    surely, perhaps = none, none
    if limits.net_rx_jiffies is not None and limits.tick_ns is not None:
        # Of J jiffies between J - 1 and J ticks must pass: the first began before.
        span = limits.net_rx_jiffies * limits.tick_ns
        surely = (polled & (elapsed >= span)).astype("boolean")
        perhaps = (polled & (longest > span - limits.tick_ns)).astype("boolean")
    columns = ["cpu", "entry_ns", "exit_ns", "polls", "packets", "full", "in_kthread"]
    return rows[columns].assign(
        full=rows["full"].astype("Int64").fillna(0),
        budget=by_budget,
        low=by_budget | surely,
        high=by_budget | perhaps,
        time_low=surely & ~by_budget,
        time_high=perhaps & ~by_budget,
    )


def by_cpu(rows: pd.DataFrame, cpus: list[int]) -> pd.DataFrame:
    # A row per recorded CPU.
    groups = rows.groupby("cpu")
    polled = rows[rows["polls"] > 0].groupby("cpu")
    table = pd.DataFrame(
        {
            "with_polls": polled.size(),
            "full_polls": groups["full"].sum(),
            "by_budget": _count(rows, "budget"),
            "by_time_low": _count(rows, "time_low"),
            "by_time_high": _count(rows, "time_high"),
            "squeezes_low": _count(rows, "low"),
            "squeezes_high": _count(rows, "high"),
        },
        index=pd.Index(sorted(cpus), name="cpu"),
    ).astype("Int64")
    for name, column in _MARKS.items():
        # No NET_RX of a CPU: none of them was squeezed, where the limits are known at all.
        if not rows[column].isna().any():
            table[name] = table[name].fillna(0)
    return table.fillna({"with_polls": 0, "full_polls": 0}).reset_index()


_MARKS = {
    "by_budget": "budget",
    "by_time_low": "time_low",
    "by_time_high": "time_high",
    "squeezes_low": "low",
    "squeezes_high": "high",
}


def _count(rows: pd.DataFrame, column: str) -> "pd.Series[int]":
    return rows.groupby("cpu")[column].agg(lambda marks: marks.sum(skipna=False)).astype("Int64")


@squeezes.figures
def _figures(answer: "Answer[Exhaustion]") -> dict[str, Any]:
    table, against = answer.result.by_cpu, answer.result.against_softnet
    table = table[table["with_polls"] > 0]
    counted = against[against["softnet_squeezes"].notna()]
    return {
        "cpus": records(table.head(_CPUS)),
        "more": len(table[_CPUS:]),
        "known": bool(table["squeezes_low"].notna().any()),
        "against": records(counted.head(_CPUS)),
        "why": None if len(counted) else next(iter(against["why"]), None),
    }


def _with_packets(answer: "Answer[Exhaustion]") -> pd.DataFrame:
    rows = net_rx_softirqs(answer.timeline)
    if not work_known(answer.timeline):
        return rows[:0]
    return rows.assign(ns=(rows["exit_ns"] - rows["entry_ns"]).astype("int64"))


@squeezes.plot(
    title="Packets and length of each NET_RX, and the limits of both",
    height=3.4,
    panels=lambda answer: [{}] if _with_packets(answer)["packets"].sum() else [],
)
def _packets_and_length(ax: "Axes", answer: "Answer[Exhaustion]") -> None:
    from .plots import softirq_limits

    softirq_limits(ax, _with_packets(answer), answer.result.limits)
