# Which NET_RX stopped at a limit: softirqs by CPU, and by what of them lies beyond which limit.

import numpy as np
import pandas as pd

from ...timeline.aggregates import Grouped
from ...timeline.group import Edges, Groups
from ...timeline.timeline import Timeline
from .common import NET_RX
from .kernel_limits import KernelLimits, limits_of
from .softnet import Times, readings_of, times_of

# A mark: of squeezes those by the budget, those that surely and that perhaps were, and of these
# those by time.
MARKS = ("budget", "low", "high", "time_low", "time_high")
HAS_WORK = Grouped("polls", by=("in_softirq",), known=("work",))
# From entry to exit, of NET_RX with polls.
LENGTHS = Grouped(
    "softirqs",
    by=("in_kthread", "packets"),
    lengths="length_ns",
    where={**NET_RX, "polls": (1, None)},
)


def edges_of(limits: KernelLimits, times: Times | None) -> Edges:
    # The check stands after a poll: a NET_RX without one is never squeezed. Of J jiffies between
    # J - 1 and J ticks must pass: the first began before.
    edges: dict[str, tuple[int, ...]] = {"polls": (1,)}
    if limits.netdev_budget is not None:
        edges["packets"] = (limits.netdev_budget,)
    if limits.net_rx_limit_ns is not None:
        least_ns, span_ns = limits.net_rx_limit_ns
        edges["polled_ns"], edges["length_ns"] = (span_ns,), (least_ns + 1,)
    if times is not None:
        ends = (times.from_ns, times.inner_from_ns, times.inner_to_ns + 1, times.to_ns + 1)
        edges["exit_ns"] = tuple(np.maximum.accumulate(ends).tolist())
    return tuple(edges.items())


def _times(timeline: Timeline) -> Times | None:
    return times_of(readings_of(timeline)[0])


BY_LIMITS = Grouped(
    "softirqs",
    by=("cpu",),
    edges=lambda timeline: edges_of(limits_of(timeline.capture), _times(timeline)),
    sums=("packets", "full_polls"),
    where=NET_RX,
)
# Those that began between the readings of /proc/softirqs.
ENTERED = Grouped(
    "softirqs",
    by=("cpu",),
    edges=lambda timeline: _read_between(_times(timeline)),
    where=NET_RX,
)


def _read_between(times: Times | None) -> Edges:
    if times is None:
        return ()
    between = np.maximum.accumulate((times.softirqs_from_ns, times.softirqs_to_ns + 1))
    return (("entry_ns", tuple(between.tolist())),)


def has_work(timeline: Timeline) -> bool:
    # Whether napi_poll said how many packets, of any poll.
    return bool(HAS_WORK(timeline).frame["work_known"].sum())


def squeezed(timeline: Timeline, limits: KernelLimits, times: Times | None) -> pd.DataFrame:
    # By CPU: with_polls and full; for each mark its count, and as NAME_unknown how many softirqs it
    # is not known of. With times also inner_low: low, of softirqs that ended between the readings
    # of softnet_stat; outer_high and packets: of those that ended during a reading too; entered:
    # softirqs that began between the readings of /proc/softirqs.
    found = BY_LIMITS(timeline, BY_LIMITS.of(timeline)._replace(edges=edges_of(limits, times)))
    polls = HAS_WORK(timeline).frame["polls"].sum()
    sums = marked(found, has_work(timeline) or not polls, limits, times)
    between = ENTERED.of(timeline)._replace(edges=_read_between(times))
    entered = ENTERED(timeline, between).frame
    if times is None:
        return sums
    begun = entered[entered["entry_ns_place"] == 1].groupby("cpu")["softirqs"].sum()
    return sums.assign(entered=begun.reindex(sums.index, fill_value=0))


def marked(
    found: Groups, is_work_known: bool, limits: KernelLimits, times: Times | None
) -> pd.DataFrame:
    rows = found.frame

    def beyond(name: str) -> "pd.Series[bool]":
        return (rows[f"{name}_place"].fillna(0) > 0).astype("boolean")

    has_polls = beyond("polls")
    by_budget = surely = perhaps = pd.Series(pd.NA, index=rows.index, dtype="boolean")
    if limits.netdev_budget is not None and is_work_known:
        by_budget = has_polls & beyond("packets")
    if limits.net_rx_limit_ns is not None:
        surely, perhaps = has_polls & beyond("polled_ns"), has_polls & beyond("length_ns")
    marks = {
        "budget": by_budget,
        "low": by_budget | surely,
        "high": by_budget | perhaps,
        "time_low": surely & ~by_budget,
        "time_high": perhaps & ~by_budget,
    }
    table = rows[["cpu"]].assign(
        with_polls=has_polls.astype("int64") * rows["softirqs"], full=rows["full_polls"]
    )
    if times is not None:
        inner, outer = rows["exit_ns_place"] == 2, rows["exit_ns_place"].between(1, 3)
        table["packets"] = rows["packets"].where(outer, 0)
        marks["inner_low"] = marks["low"].mask(~inner, False)
        marks["outer_high"] = marks["high"].mask(~outer, False)
    for name, mark in marks.items():
        table[name] = mark.fillna(False).astype("int64") * rows["softirqs"]
        table[f"{name}_unknown"] = mark.isna().astype("int64") * rows["softirqs"]
    return table.groupby("cpu").sum()
