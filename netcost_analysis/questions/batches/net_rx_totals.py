# What NET_RX softirqs did in all, and what a packet costs alone and with others.

from typing import Any

from ...answers.answer import Answer
from ...answers.question import question
from ...capture.requires import unrecorded
from ...timeline.timeline import Timeline
from .paired import INPUTS, gathered, paired
from .poll_costs import alone_and_together, costs_from


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    inputs=INPUTS,
    rows=0,
)
def net_rx_totals(timeline: Timeline) -> Answer:
    """What NET_RX softirqs did and took in all, and what a packet costs alone and with others.

    Sums over all CPUs of the timeline, of NET_RX that were seen from entry to exit. Packet figures
    are None where polls were not recorded. Source: sums of softirq_chains, and the costs of
    poll_costs.
    """
    by_polls = paired(timeline)["by_polls"].set_index("has_polls")
    every = by_polls.sum()
    polled, without = (by_polls[by_polls.index == has].sum() for has in (1, 0))
    cpu_ns = timeline.duration_ns * len(timeline.summary["cpus"])
    own_ns = int(polled["own_ns"])
    return Answer(
        net_rx=int(every["softirqs"]),
        wall_ns=int(every["wall_ns"]),
        with_polls=int(polled["softirqs"]),
        polls=int(polled["polls"]),
        packets=int(polled["packets"]),
        self_ns=own_ns,
        all_cpus_share=own_ns / cpu_ns if cpu_ns else None,
        in_polls_share=int(polled["poll_ns"]) / own_ns if own_ns else None,
        dispatches=int(without["softirqs"]),
        dispatch_ns=int(without["unnested_ns"]),
        **_of_devices(timeline),
    )


def _of_devices(timeline: Timeline) -> dict[str, Any]:
    names = ("device", "batch_mean", "priced_device", "alone_ns", "together", "together_ns")
    figures: dict[str, Any] = dict.fromkeys(names)
    if unrecorded(timeline.capture, "napi:napi_poll"):
        return figures
    costs = costs_from(gathered(timeline))
    if costs["batch_mean"].head(1).notna().any():
        first = costs.iloc[0]
        figures |= {"device": first["device"], "batch_mean": float(first["batch_mean"])}
        fitted = costs[costs["refused"].isna() & costs["doubt"].isna()]
        # The price of a packet that comes alone depends on the fixed part, which must not be noise.
        if fitted["fixed_low_ns"].head(1).gt(0).any():
            cost = fitted.iloc[0]
            figures |= {"priced_device": cost["device"], **alone_and_together(cost)}
    return figures
