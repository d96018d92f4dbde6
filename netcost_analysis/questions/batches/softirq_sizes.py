# How many polls and packets a NET_RX softirq handles.

from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from ...timeline.timeline import Timeline
from ..question import question
from .common import net_rx

if TYPE_CHECKING:
    from ..answer import Answer


@question(needs=("irq:softirq_entry", "irq:softirq_exit", "napi:napi_poll"), rows=0)
def softirq_sizes(timeline: Timeline) -> pd.DataFrame:
    """Polls and packets per NET_RX softirq: how often each pair occurred.

    Returns a row per cpu, in_kthread, polls and packets: softirqs, ns (their own time,
    outside_polls_ns of it outside polls). RPS dispatch, NET_RX without any poll, is not in it:
    see rps_dispatch. packets is NA where the kernel's napi_poll has no work field. Raises
    MissingEventsError without one of the events.
    """
    timeline.load("softirqs", "polls")
    return softirqs_from(timeline.softirqs, bool(timeline.polls["work"].notna().any()))


def softirqs_from(softirqs: pd.DataFrame, has_work: bool = True) -> pd.DataFrame:
    # softirq_sizes() of the softirqs table.
    rows = net_rx(softirqs)
    rows = rows[rows["polls"] > 0].astype({"polls": "int64", "packets": "Int64"})
    if not has_work:
        rows["packets"] = pd.array([pd.NA] * len(rows), dtype="Int64")
    groups = rows.groupby(["cpu", "in_kthread", "polls", "packets"], dropna=False, sort=True)
    return pd.DataFrame(
        {
            "softirqs": groups.size().astype("int64"),
            "ns": groups["self_ns"].sum().astype("int64"),
            "outside_polls_ns": groups["outside_polls_ns"].sum().astype("int64"),
        }
    ).reset_index()


class PollsPerSoftirq(NamedTuple):
    """Over NET_RX that polled: mean and most of polls and of packets, None where not known.

    single_share: of the softirqs, those of one poll.
    """

    softirqs: int
    polls_mean: float | None = None
    polls_most: int | None = None
    packets_mean: float | None = None
    packets_most: int | None = None
    single_share: float | None = None


@softirq_sizes.figures
def _per_softirq(answer: "Answer[pd.DataFrame]") -> PollsPerSoftirq:
    sizes = answer.frame
    number = int(sizes["softirqs"].sum())
    if not number:
        return PollsPerSoftirq(0)
    known = bool(sizes["packets"].notna().all())
    packets = sizes["packets"].astype("Float64").fillna(0)
    single = int(sizes.loc[sizes["polls"] == 1, "softirqs"].sum())
    return PollsPerSoftirq(
        number,
        float((sizes["polls"] * sizes["softirqs"]).sum() / number),
        int(sizes["polls"].max()),
        float((packets * sizes["softirqs"]).sum() / number) if known else None,
        int(packets.max()) if known else None,
        single / number,
    )


class NetRx(NamedTuple):
    """Batches of NET_RX softirqs.

    busy: those that received any, of which packets_mean, packets_most and polls_mean are;
    dispatches: without a poll; empty: without a packet; in_kthread, in_kthread_share: in kernel
    threads.
    """

    softirqs: int
    busy: int
    packets_mean: float
    packets_most: int
    polls_mean: float
    dispatches: int
    empty: int
    in_kthread: int
    in_kthread_share: float


def net_rx_of(softirqs: pd.DataFrame) -> NetRx:
    """The batches of some rows of the softirqs table."""
    busy = softirqs[softirqs["packets"] > 0]
    in_kthread = int(softirqs["in_kthread"].sum())
    return NetRx(
        len(softirqs),
        len(busy),
        float(busy["packets"].astype("float64").mean()),
        int(busy["packets"].max()) if len(busy) else 0,
        float(busy["polls"].astype("float64").mean()),
        int((softirqs["polls"] == 0).sum()),
        int((softirqs["packets"] == 0).sum()),
        in_kthread,
        in_kthread / len(softirqs) if len(softirqs) else float("nan"),
    )
