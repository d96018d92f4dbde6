# NET_RX that stopped because its budget or its time was used up, and softnet_stat's own count.

from typing import Any

import numpy as np
import pandas as pd

from ... import plots
from ...answers.question import Answer, question
from ...timeline.aggregates import Grouped
from ...timeline.group import Edges
from ...timeline.timeline import Timeline
from .kernel_limits import KernelLimits, limits_of
from .paired import Picked
from .softirqs import NET_RX
from .softnet import compared, count_of, readings_of, times_of, with_missing

_MARKS = ("by_budget", "by_time_low", "by_time_high", "squeezes_low", "squeezes_high")


def _edges(limits: KernelLimits, times: dict[str, int] | None) -> Edges:
    # The kernel checks its limits after a poll, so that a NET_RX without polls is never squeezed. A
    # limit of J jiffies is over after J - 1 to J ticks, for the first jiffy began before.
    edges: dict[str, tuple[int, ...]] = {"polls": (1,)}
    if limits.netdev_budget is not None:
        edges["packets"] = (limits.netdev_budget,)
    if limits.net_rx_limit_ns is not None:
        least_ns, most_ns = limits.net_rx_limit_ns
        edges["polled_ns"], edges["length_ns"] = (most_ns,), (least_ns + 1,)
    if times is not None:
        inner = times["inner_from_ns"], times["inner_to_ns"] + 1
        edges["exit_ns"] = _rising(times["from_ns"], *inner, times["to_ns"] + 1)
    return tuple(edges.items())


def _read_between(timeline: Timeline) -> Edges:
    if (times := _times(timeline)) is None:
        return ()
    return (("entry_ns", _rising(times["softirqs_from_ns"], times["softirqs_to_ns"] + 1)),)


def _rising(*edges: int) -> tuple[int, ...]:
    return tuple(np.maximum.accumulate(edges).tolist())


def _times(timeline: Timeline) -> dict[str, int] | None:
    return times_of(readings_of(timeline)[0])


_BY_LIMITS = Grouped(
    "softirqs",
    by=("cpu",),
    edges=lambda timeline: _edges(limits_of(timeline.capture), _times(timeline)),
    sums=("packets", "full_polls"),
    where=NET_RX,
)
# Those that began between the readings of /proc/softirqs.
_ENTERED = Grouped("softirqs", by=("cpu",), edges=_read_between, where=NET_RX)
_HAS_WORK = Grouped("polls", by=("in_softirq",), known=("work",))
# From entry to exit, of NET_RX with polls.
_LENGTHS = Grouped(
    "softirqs",
    by=("in_kthread", "packets"),
    lengths="length_ns",
    where={**NET_RX, "polls": (1, None)},
)


@question(
    needs=("softirqs", "polls"),
    inputs=(_BY_LIMITS, _ENTERED, _HAS_WORK, _LENGTHS),
    columns=(
        *("cpu", "squeezes_low", "squeezes_high", "with_polls", "by_budget"),
        *("softnet_squeezes", "verdict"),
    ),
    rows=0,
)
def squeezes(
    timeline: Timeline,
    budget: int | None = None,
    usecs: int | None = None,
    hz: int | None = None,
) -> Answer:
    """How often NET_RX stopped at a limit, and whether softnet_stat's time_squeeze agrees.

    A row per CPU. budget is net.core.netdev_budget, in packets; usecs is
    net.core.netdev_budget_usecs; hz is CONFIG_HZ. Each is by default the bundle's own, and columns
    are NA where it is unknown. `against_softnet`: the same between two readings of softnet_stat.

    net_rx_action counts a squeeze when, after a poll, its packets have used the budget or its
    jiffies are over. The start of a jiffy is not recorded, so the count by time is a range. Source:
    softirqs and polls, the bundle's settings and softnet_stat.
    """
    limits = limits_of(timeline.capture, budget, usecs, hz)
    counted, why = readings_of(timeline)
    sums = squeezed(timeline, limits, times_of(counted))
    cpus = timeline.summary["cpus"]
    return Answer(
        limits=limits,
        by_cpu=with_missing(by_cpu(sums, cpus), timeline.capture, "with_polls"),
        against_softnet=compared(sums, cpus, counted, why),
    )


def by_cpu(sums: pd.DataFrame, cpus: list[int]) -> pd.DataFrame:
    # A row per recorded CPU. sums: of squeezed().
    table = pd.DataFrame(index=pd.Index(sorted(cpus), name="cpu"))
    table = table.join(sums[["with_polls", "full_polls"]]).fillna(0).astype("Int64")
    for name in _MARKS:
        # A CPU without NET_RX has no squeezes, where the limits are known.
        absent: Any = pd.NA if sums[f"{name}_unknown"].any() else 0
        table[name] = count_of(sums, name).reindex(table.index, fill_value=absent)
    return table.reset_index()


def squeezed(
    timeline: Timeline, limits: KernelLimits, times: dict[str, int] | None
) -> pd.DataFrame:
    # By CPU: with_polls, full_polls, and for each mark its count, with the number of softirqs of
    # which it is unknown as NAME_unknown. With times also inner_low (squeezes_low of softirqs that
    # ended between the readings of softnet_stat), outer_high and packets (of those that ended
    # during a reading too) and entered (softirqs that began between readings of /proc/softirqs).
    wanted = _BY_LIMITS.of(timeline)._replace(edges=_edges(limits, times))
    rows = _BY_LIMITS(timeline, wanted).frame

    def beyond(name: str) -> "pd.Series[bool]":
        return (rows[f"{name}_place"].fillna(0) > 0).astype("boolean")

    has_polls = beyond("polls")
    by_budget = surely = perhaps = pd.Series(pd.NA, index=rows.index, dtype="boolean")
    if limits.netdev_budget is not None and _packets_known(timeline):
        by_budget = has_polls & beyond("packets")
    if limits.net_rx_limit_ns is not None:
        surely, perhaps = has_polls & beyond("polled_ns"), has_polls & beyond("length_ns")
    marks = {
        "by_budget": by_budget,
        "squeezes_low": by_budget | surely,
        "squeezes_high": by_budget | perhaps,
        "by_time_low": surely & ~by_budget,
        "by_time_high": perhaps & ~by_budget,
    }
    table = rows[["cpu", "full_polls"]].assign(
        with_polls=has_polls.astype("int64") * rows["softirqs"]
    )
    if times is not None:
        inner, outer = rows["exit_ns_place"] == 2, rows["exit_ns_place"].between(1, 3)
        table["packets"] = rows["packets"].where(outer, 0)
        marks["inner_low"] = marks["squeezes_low"].mask(~inner, False)
        marks["outer_high"] = marks["squeezes_high"].mask(~outer, False)
    for name, mark in marks.items():
        table[name] = mark.fillna(False).astype("int64") * rows["softirqs"]
        table[f"{name}_unknown"] = mark.isna().astype("int64") * rows["softirqs"]
    sums = table.groupby("cpu").sum()
    if times is None:
        return sums
    entered = _ENTERED(timeline).frame
    begun = entered[entered["entry_ns_place"] == 1].groupby("cpu")["softirqs"].sum()
    return sums.assign(entered=begun.reindex(sums.index, fill_value=0))


def _packets_known(timeline: Timeline) -> bool:
    # Whether napi_poll said how many packets, of any poll there was.
    polls = _HAS_WORK(timeline).frame[["polls", "work_known"]].sum()
    return bool(polls["work_known"] or not polls["polls"])


def _with_packets(answer: Answer) -> pd.DataFrame:
    # packets, ns and in_kthread of NET_RX, each that occurred once.
    rows = _LENGTHS(answer.timeline).lengths.counts.reset_index().rename(columns={"low": "ns"})
    return rows if _packets_known(answer.timeline) else rows[:0]


@squeezes.plot(
    title="Packets and length of each NET_RX, and the limits of both",
    height=3.4,
    panels=lambda answer: [{}] if _with_packets(answer)["packets"].sum() else [],
)
def _packets_and_length(ax: "plots.Axes", answer: Answer) -> None:
    limits, unusual = answer["limits"], Picked()
    plots.softirqs.softirq_limits(
        ax,
        _with_packets(answer),
        limits.netdev_budget,
        limits.net_rx_jiffies,
        limits.net_rx_limit_ns,
        corner=(unusual.longer_ns / 1e6, unusual.fewer_packets),
    )
