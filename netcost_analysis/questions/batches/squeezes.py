# NET_RX that stopped because its budget or its time was used up, and softnet_stat's own count.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...parsers.counters import counters
from ...timeline.timeline import Timeline
from ..completeness.unrecorded import proved_softirqs
from ..question import question
from .common import int64, net_rx, plain, records
from .kernel_limits import KernelLimits, limits_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...capture.bundle import Bundle
    from ..answer import Answer

# So many CPUs are told of.
_CPUS = 12
# Of a CPU's NET_RX: so many may be missing without a word.
_FEW = 0.01
# Clocks whose times are those of the counters' readings.
_READINGS_CLOCK = ("monotonic", "mono")


class Exhaustion(NamedTuple):
    """NET_RX softirqs that ran out of budget or time.

    limits: KernelLimits. by_cpu: what the trace shows in the window. against_softnet: the same
    between two readings of softnet_stat, beside what the kernel counted then, and a verdict.
    """

    limits: KernelLimits
    by_cpu: pd.DataFrame
    against_softnet: pd.DataFrame


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit", "napi:napi_poll"),
    main_columns=(
        "cpu",
        "squeezes_low",
        "squeezes_high",
        "net_rx",
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

    budget, usecs, hz: netdev_budget, netdev_budget_usecs and CONFIG_HZ, None for the bundle's own.
    net_rx_action counts a squeeze when, after a poll, its packets have used the budget or its
    jiffies are over. When a jiffy begins is not recorded, so the count by time is a range. All
    columns of it are NA where the limits are unknown. Raises MissingEventsError without one of the
    events, ValueError for a limit below 1.
    """
    limits = limits_of(timeline.capture, budget, usecs, hz)
    timeline.load("softirqs", "polls")
    rows = marked(timeline.softirqs, timeline.polls, limits)
    cpus = timeline.summary["cpus"]
    counted, why = readings_of(timeline)
    table = with_missing(by_cpu(rows, cpus), proved_softirqs(timeline.capture))
    return Exhaustion(limits, table, compared(rows, cpus, counted, why))


def with_missing(table: pd.DataFrame, proved: pd.DataFrame | None) -> pd.DataFrame:
    # A table of CPUs with what its net_rx may be at most, where the kernel counted some that no
    # event shows. proved: as proved_softirqs returns it.
    most = {}
    if proved is not None:
        own = proved[proved["counter"] == "NET_RX"]
        most = {int(row["cpu"]): int(row["missing_least"]) for row in own.to_dict("records")}
    more = table["cpu"].map(most).fillna(0).astype("Int64")
    table.insert(list(table.columns).index("net_rx") + 1, "net_rx_max", table["net_rx"] + more)
    return table


def readings_of(timeline: Timeline) -> tuple[pd.DataFrame | None, str | None]:
    # What the kernel counted within the timeline's window, or why that is not known.
    bundle = timeline.capture.bundle
    if bundle is None:
        return (
            None,
            "a bare recording has no softnet_stat: netcost-record takes it beside the trace",
        )
    if timeline.capture.header.get("clock") not in _READINGS_CLOCK:
        return None, "the capture's clock is not CLOCK_MONOTONIC, that of the counters' readings"
    window = (int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"]))
    return grown(bundle, window), None


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
            "net_rx": polled.size(),
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
    return table.fillna({"net_rx": 0, "full_polls": 0}).reset_index()


_MARKS = {
    "by_budget": "budget",
    "by_time_low": "time_low",
    "by_time_high": "time_high",
    "squeezes_low": "low",
    "squeezes_high": "high",
}


def _count(rows: pd.DataFrame, column: str) -> "pd.Series[int]":
    return rows.groupby("cpu")[column].agg(lambda marks: marks.sum(skipna=False)).astype("Int64")


def grown(bundle: "Bundle", window: tuple[int, int]) -> pd.DataFrame | None:
    # What the kernel counted between the first and the last reading inside the window, by CPU;
    # for softnet_stat and softirqs each, from_ns and to_ns are when the first reading began and the
    # last one ended, and inner_from_ns, inner_to_ns when it ended and began. None without two.
    softnet = _ends(counters(bundle, "softnet_stat"), "cpu", window)
    if softnet is None:
        return None
    first, last, times = softnet
    names = {
        "time_squeeze": "softnet_squeezes",
        "processed": "packets_counted",
        "received_rps": "received_rps",
    }
    table = pd.DataFrame(
        {name: last[of] - first[of] if of in first else pd.NA for of, name in names.items()},
        index=first.index,
    ).astype("Int64")
    table["softirqs_counted"] = pd.array([pd.NA] * len(table), dtype="Int64")
    softirqs = _ends(counters(bundle, "softirqs"), "action", window)
    if softirqs is not None and "NET_RX" in softirqs[0].index:
        by_cpu = (softirqs[1] - softirqs[0]).loc["NET_RX"]
        by_cpu = by_cpu[[name for name in by_cpu.index if isinstance(name, int)]]
        table["softirqs_counted"] = by_cpu.astype("Int64").reindex(table.index)
    # A counter that went backwards belongs to a CPU that was made anew.
    table = table.mask(table < 0).assign(**times)
    around = softirqs[2] if softirqs is not None else times
    return table.assign(softirqs_from_ns=around["from_ns"], softirqs_to_ns=around["to_ns"])


def _ends(
    counted: pd.DataFrame, key: str, window: tuple[int, int]
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, int]] | None:
    # The first and the last reading inside the window, by key, and their times.
    inside = counted[(counted["begin_ns"] >= window[0]) & (counted["end_ns"] <= window[1])]
    if inside["at_ns"].nunique() < 2:
        return None
    first = inside[inside["at_ns"] == inside["at_ns"].min()]
    last = inside[inside["at_ns"] == inside["at_ns"].max()]
    times = {
        "start_ns": int(first["at_ns"].iloc[0]),
        "end_ns": int(last["at_ns"].iloc[0]),
        "from_ns": int(first["begin_ns"].iloc[0]),
        "inner_from_ns": int(first["end_ns"].iloc[0]),
        "inner_to_ns": int(last["begin_ns"].iloc[0]),
        "to_ns": int(last["end_ns"].iloc[0]),
    }
    values = [name for name in counted.columns if name not in ("begin_ns", "end_ns", "at_ns", key)]
    begun, ended = (part.set_index(key)[values].astype("Int64") for part in (first, last))
    return begun, ended, times


def compared(
    rows: pd.DataFrame, cpus: list[int], counted: pd.DataFrame | None, why: str | None
) -> pd.DataFrame:
    # A row per recorded CPU: both counts over the same time, and what explains the difference. A
    # reading takes its time: what ended between its begin and its end may be in it or not, so low
    # is of the time between the readings, high of that and both readings.
    table = pd.DataFrame({"cpu": sorted(cpus)})
    if counted is None:
        for name in _COMPARED[1:-1]:
            table[name] = pd.array([pd.NA] * len(table), dtype="Int64")
        why = why or "softnet_stat was not read twice within the capture"
        return table.assign(verdict=f"unknown: {why}")
    table = table.merge(counted.drop(columns="received_rps").reset_index(), on="cpu", how="left")
    found = [_traced(rows, place) for place in table.to_dict("records")]
    names = ["squeezes_low", "squeezes_high", "softirqs_traced", "packets_traced"]
    table[names] = pd.DataFrame(found, index=table.index, columns=names).astype("Int64")
    verdicts = [_verdict(row) for row in table.to_dict("records")]
    table = table.assign(verdict=np.array(verdicts, dtype=object))
    return table[list(_COMPARED)].astype({"start_ns": "Int64", "end_ns": "Int64"})


_COMPARED = (
    *("cpu", "start_ns", "end_ns", "squeezes_low", "squeezes_high", "softnet_squeezes"),
    *("softirqs_traced", "softirqs_counted", "packets_traced", "packets_counted", "verdict"),
)


def _traced(rows: pd.DataFrame, place: dict[Any, Any]) -> list[Any]:
    if pd.isna(place["from_ns"]):
        return [pd.NA] * 4
    here = rows[rows["cpu"] == place["cpu"]]
    inner = here["exit_ns"].between(place["inner_from_ns"], place["inner_to_ns"])
    outer = here["exit_ns"].between(place["from_ns"], place["to_ns"])
    entered = here["entry_ns"].between(place["softirqs_from_ns"], place["softirqs_to_ns"])
    return [
        here.loc[inner, "low"].sum(skipna=False),
        here.loc[outer, "high"].sum(skipna=False),
        int(entered.sum()),
        here.loc[outer, "packets"].sum(),
    ]


def _verdict(row: dict[Any, Any]) -> str:
    low, high, kernel = row["squeezes_low"], row["squeezes_high"], row["softnet_squeezes"]
    if pd.isna(kernel):
        return "unknown: softnet_stat has no count for this CPU"
    if pd.isna(low) or pd.isna(high):
        return "unknown: the limits were not recorded"
    traced, counted = row["softirqs_traced"], row["softirqs_counted"]
    missing = 0 if pd.isna(counted) else counted - traced
    if low <= kernel <= high:
        if missing <= 0 or missing <= _FEW * counted:
            return "agree"
        return (
            f"agree, but {missing:,} of the {counted:,} NET_RX that the kernel counted here are in "
            "no event of the recording: all figures of this CPU are lower bounds"
        )
    if kernel < low:
        return "differ: the recording shows more than the kernel counted"
    if kernel - high <= missing:
        return (
            f"explained: {missing:,} of the {counted:,} NET_RX that the kernel counted here are in "
            "no event of the recording, and may be the rest"
        )
    return "differ: the kernel counted more than the recording shows"


@squeezes.figures
def _figures(answer: "Answer[Exhaustion]") -> dict[str, Any]:
    table, against = answer.result.by_cpu, answer.result.against_softnet
    table = table[table["net_rx"] > 0]
    counted = against[against["softnet_squeezes"].notna()]
    return {
        "cpus": records(table.head(_CPUS)),
        "more": len(table[_CPUS:]),
        "known": bool(table["squeezes_low"].notna().any()),
        "against": records(counted.head(_CPUS)),
        "why": None if len(counted) else next(iter(against["verdict"]), None),
    }


def _with_packets(answer: "Answer[Exhaustion]") -> pd.DataFrame:
    rows = net_rx(answer.timeline.softirqs)
    if not answer.timeline.polls["work"].notna().any():
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
