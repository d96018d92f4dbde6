# What NET_RX softirqs did in all, and what a packet costs alone and with others.

from typing import TYPE_CHECKING, Any, NamedTuple

from ...answers.question import question
from ...capture.requires import unrecorded
from ...timeline.timeline import Timeline
from .common import called
from .packet_costs import alone_and_together
from .paired import INPUTS, paired
from .poll_costs import costs_from, gathered

if TYPE_CHECKING:
    from ...answers.answer import Answer


class NetRxTotals(NamedTuple):
    """NET_RX softirqs in all, those that were seen from entry to exit; None where not known.

    Parameters
    ----------
    net_rx, wall_ns : int
        All, and their time from entry to exit.
    with_polls, polls, packets : int
        Those with polls, and what they polled.
    self_ns : int
        Time of those with polls, without what interrupted them.
    all_cpus_share, in_polls_share : float, optional
        Of the CPUs' time, self_ns; of self_ns, what was in polls; 0 to 1.
    dispatches, dispatch_ns : int
        Those without a poll, and their time.
    device, batch_mean : str and float, optional
        The one with most packets, and packets of its polls that received any.
    priced_device : str, optional
        The first device with a line that can be used (poll_costs).
    alone_ns, together, together_ns : float, int and float, optional
        What a packet of priced_device costs that comes alone, and one of `together` in one poll.
    """

    net_rx: int
    wall_ns: int
    with_polls: int
    polls: int
    packets: int
    self_ns: int
    all_cpus_share: float | None
    in_polls_share: float | None
    dispatches: int
    dispatch_ns: int
    device: str | None
    batch_mean: float | None
    priced_device: str | None
    alone_ns: float | None
    together: int | None
    together_ns: float | None


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    inputs=INPUTS,
    rows=0,
)
def net_rx_totals(timeline: Timeline) -> NetRxTotals:
    """What NET_RX softirqs did and took in all, and what a packet costs alone and with others.

    Sums over all CPUs of the timeline.

    Source: sums of softirq_chains, and the costs of poll_costs.
    """
    by_polls = paired(timeline).chain_sums.by_polls.set_index("has_polls")
    every = by_polls.sum()
    polled, sent = (by_polls[by_polls.index == has].sum() for has in (1, 0))
    cpu_ns = timeline.duration_ns * len(timeline.summary["cpus"])
    own = int(polled["own_ns"])
    device: dict[str, Any] = dict.fromkeys(NetRxTotals._fields[-6:])
    recorded = not unrecorded(timeline.capture, "napi:napi_poll")
    costs = costs_from(gathered(timeline)) if recorded else None
    if costs is not None and costs["batch_mean"].head(1).notna().any():
        first = costs.iloc[0]
        device |= {"device": first["device"], "batch_mean": float(first["batch_mean"])}
        fitted = costs[costs["refused"].isna() & costs["doubt"].isna()]
        # What one says of a packet alone hangs on the fixed part: no figure of it may be noise.
        if fitted["fixed_low_ns"].head(1).gt(0).any():
            price = fitted.iloc[0]
            device |= {"priced_device": price["device"], **alone_and_together(price)._asdict()}
    return NetRxTotals(
        int(every["softirqs"]),
        int(every["wall_ns"]),
        int(polled["softirqs"]),
        int(polled["polls"]),
        int(polled["packets"]),
        own,
        own / cpu_ns if cpu_ns else None,
        int(polled["poll_ns"]) / own if own else None,
        int(sent["softirqs"]),
        int(sent["unnested_ns"]),
        **device,
    )


@net_rx_totals.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    found = answer.result
    totals: dict[str, Any] = found._asdict()
    return totals | {
        "device": called(found.device),
        "priced_device": called(found.priced_device),
    }
