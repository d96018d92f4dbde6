# NET_RX that stopped because its budget or its time was used up, and softnet_stat's own count.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...answers.question import question
from ...timeline.timeline import Timeline
from ..completeness.unrecorded import proved_softirqs
from .common import records
from .kernel_limits import KernelLimits, limits_of
from .softnet import compared, count_of, readings_of, times_of, with_missing
from .squeezed import BY_LIMITS, ENTERED, HAS_WORK, LENGTHS, has_work, squeezed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

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
    inputs=(BY_LIMITS, ENTERED, HAS_WORK, LENGTHS),
    columns=(
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

    - budget: net.core.netdev_budget, in packets; None for the bundle's own.
    - usecs: net.core.netdev_budget_usecs; None for the bundle's own.
    - hz: CONFIG_HZ; None for the bundle's own.

    Its columns are NA where the limits are unknown.

    net_rx_action counts a squeeze when, after a poll, its packets have used the budget or its
    jiffies are over. When a jiffy begins is not recorded, so the count by time is a range. Source:
    softirqs and polls, the bundle's settings and softnet_stat.
    """
    limits = limits_of(timeline.capture, budget, usecs, hz)
    counted, why = readings_of(timeline)
    sums = squeezed(timeline, limits, times_of(counted))
    cpus = timeline.summary["cpus"]
    table = with_missing(by_cpu(sums, cpus), proved_softirqs(timeline.capture), "with_polls")
    return Exhaustion(limits, table, compared(sums, cpus, counted, why))


def by_cpu(sums: pd.DataFrame, cpus: list[int]) -> pd.DataFrame:
    # A row per recorded CPU. sums: of squeezed.py.
    table = pd.DataFrame(index=pd.Index(sorted(cpus), name="cpu"))
    table["with_polls"], table["full_polls"] = sums["with_polls"], sums["full"]
    for name, mark in _MARKS.items():
        table[name] = count_of(sums, mark)
    table = table.astype("Int64")
    for name, mark in _MARKS.items():
        # No NET_RX of a CPU: none of them was squeezed, where the limits are known at all.
        if not sums[f"{mark}_unknown"].any():
            table[name] = table[name].fillna(0)
    return table.fillna({"with_polls": 0, "full_polls": 0}).reset_index()


_MARKS = {
    "by_budget": "budget",
    "by_time_low": "time_low",
    "by_time_high": "time_high",
    "squeezes_low": "low",
    "squeezes_high": "high",
}


@squeezes.figures
def _figures(answer: "Answer") -> dict[str, Any]:
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


def _with_packets(answer: "Answer") -> pd.DataFrame:
    # packets, ns and in_kthread of NET_RX, each that occurred once.
    rows = LENGTHS(answer.timeline).lengths.counts.reset_index().rename(columns={"low": "ns"})
    return rows if has_work(answer.timeline) else rows[:0]


@squeezes.plot(
    title="Packets and length of each NET_RX, and the limits of both",
    height=3.4,
    panels=lambda answer: [{}] if _with_packets(answer)["packets"].sum() else [],
)
def _packets_and_length(ax: "Axes", answer: "Answer") -> None:
    from .plots import softirq_limits

    softirq_limits(ax, _with_packets(answer), answer.result.limits)
