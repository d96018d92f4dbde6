# How many polls and packets a NET_RX softirq handles.

from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from ...answers.question import question
from ...timeline.aggregates import Grouped
from ...timeline.timeline import Timeline
from .common import NET_RX
from .poll_sizes import COUNTED, work_known

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

_KEYS = ["cpu", "in_kthread", "polls", "packets"]
_COUNTED = Grouped(
    "softirqs",
    by=("cpu", "in_kthread", "polls", "packets"),
    sums=("self_ns", "outside_polls_ns"),
    where=NET_RX,
)


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit", "napi:napi_poll"),
    inputs=(_COUNTED, COUNTED),
    rows=0,
)
def softirq_sizes(timeline: Timeline) -> pd.DataFrame:
    """Polls and packets per NET_RX softirq: how often each pair occurred.

    A row per cpu, in_kthread, polls and packets: softirqs, ns (their own time; outside_polls_ns of
    it outside polls). packets is NA where the kernel's napi_poll has no work field.

    Source: softirqs. RPS dispatch, NET_RX without any poll, is not in it: see rps_dispatch.
    """
    table = _COUNTED(timeline).frame
    table = table[table["polls"] > 0].reset_index(drop=True)
    if work_known(timeline):
        return table
    table["packets"] = table["packets"].mask(table["polls"] > 0)
    return table.groupby(_KEYS, dropna=False, as_index=False).sum()


class PollsPerSoftirq(NamedTuple):
    # NET_RX that polled: mean and most of polls and of packets, None where not known. single_share:
    # of softirqs, those of one poll. busy: those that received packets, of which packets_mean is.
    # dispatches: NET_RX beside these, without a poll. in_kthread, in_kthread_share: of softirqs,
    # those in kernel threads.

    softirqs: int
    dispatches: int
    polls_mean: float | None = None
    polls_most: int | None = None
    single_share: float | None = None
    busy: int | None = None
    packets_mean: float | None = None
    packets_most: int | None = None
    in_kthread: int = 0
    in_kthread_share: float | None = None


@softirq_sizes.figures
def _figures(answer: "Answer") -> PollsPerSoftirq:
    total: PollsPerSoftirq = answer.parts["in_all"]
    return total


@softirq_sizes.totals
def _totals(answer: "Answer") -> dict[str, PollsPerSoftirq]:
    return {"in_all": _per_softirq(answer)}


def _per_softirq(answer: "Answer") -> PollsPerSoftirq:
    sizes = answer.frame
    number = int(sizes["softirqs"].sum())
    dispatches = int(_COUNTED(answer.timeline).frame["softirqs"].sum()) - number
    if not number:
        return PollsPerSoftirq(0, dispatches)
    softirqs = _by_packets(sizes)
    busy = int(softirqs[softirqs.index > 0].sum())
    packets = int((softirqs * softirqs.index).sum())
    known = bool(len(softirqs))
    in_kthread = int(sizes.loc[sizes["in_kthread"], "softirqs"].sum())
    return PollsPerSoftirq(
        number,
        dispatches,
        float((sizes["polls"] * sizes["softirqs"]).sum() / number),
        int(sizes["polls"].max()),
        int(sizes.loc[sizes["polls"] == 1, "softirqs"].sum()) / number,
        busy if known else None,
        packets / busy if busy else None,
        int(softirqs.index.max()) if known else None,
        in_kthread,
        in_kthread / number,
    )


def _by_packets(sizes: pd.DataFrame) -> "pd.Series[int]":
    known = sizes[sizes["packets"].notna()].astype({"packets": "int64"})
    return known.groupby("packets")["softirqs"].sum()


@softirq_sizes.plot(
    title="Packets per NET_RX softirq",
    height=2.4,
    panels=lambda answer: [{}] if answer.frame["packets"].notna().any() else [],
)
def _sizes(ax: "Axes", answer: "Answer") -> None:
    from ...plots.batches import packets_per_softirq

    packets_per_softirq(ax, _by_packets(answer.frame))
