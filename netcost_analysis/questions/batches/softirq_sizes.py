# How many polls and packets a NET_RX softirq handles.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...timeline.aggregates import Grouped
from ...timeline.timeline import Timeline
from .common import NET_RX
from .poll_sizes import COUNTED, work_known

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
def softirq_sizes(timeline: Timeline) -> Answer:
    """Polls and packets per NET_RX softirq: how often each pair occurred.

    A row per CPU, in_kthread, polls and packets. RPS dispatch, NET_RX without any poll, is not in
    it: see rps_dispatch. Source: softirqs.
    """
    table = _COUNTED(timeline).frame
    has_polls = table["polls"] > 0
    dispatches = int(table.loc[~has_polls, "softirqs"].sum())
    table = table[has_polls].reset_index(drop=True)
    if not work_known(timeline):
        table["packets"] = table["packets"].mask(table["polls"] > 0)
        table = table.groupby(_KEYS, dropna=False, as_index=False).sum()
    return Answer(table, in_all=_in_all(table, dispatches))


def _in_all(sizes: pd.DataFrame, dispatches: int) -> dict[str, Any]:
    # Means and shares are None of none, figures of packets also where these are not known.
    softirqs, by_packets = int(sizes["softirqs"].sum()), _by_packets(sizes)
    polls, is_known = (sizes["polls"] * sizes["softirqs"]).sum(), bool(len(by_packets))
    busy = int(by_packets[by_packets.index > 0].sum())
    packets = int((by_packets * by_packets.index).sum())
    single = int(sizes.loc[sizes["polls"] == 1, "softirqs"].sum())
    in_kthread = int(sizes.loc[sizes["in_kthread"], "softirqs"].sum())
    return {
        "softirqs": softirqs,
        "dispatches": dispatches,
        "polls_mean": float(polls / softirqs) if softirqs else None,
        "polls_most": int(sizes["polls"].max()) if softirqs else None,
        "single_share": single / softirqs if softirqs else None,
        "busy": busy if is_known else None,
        "packets_mean": packets / busy if busy else None,
        "packets_most": int(by_packets.index.max()) if is_known else None,
        "in_kthread": in_kthread,
        "in_kthread_share": in_kthread / softirqs if softirqs else None,
    }


def _by_packets(sizes: pd.DataFrame) -> "pd.Series[int]":
    known = sizes[sizes["packets"].notna()].astype({"packets": "int64"})
    return known.groupby("packets")["softirqs"].sum()


@softirq_sizes.plot(
    title="Packets per NET_RX softirq",
    height=2.4,
    panels=lambda answer: [{}] if answer.frame["packets"].notna().any() else [],
)
def _sizes(ax: "Axes", answer: Answer) -> None:
    from ...plots.batches import packets_per_softirq

    packets_per_softirq(ax, _by_packets(answer.frame))
