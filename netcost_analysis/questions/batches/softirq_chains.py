# Irq -> softirq -> polls, a row for each NET_RX.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...timeline.timeline import Timeline
from .chain_sums import ChainSums, mean_parts
from .common import called, records
from .paired import INPUTS, paired

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    inputs=INPUTS,
    columns=("cpu", "entry_ns", "wall_ns", "packets", "device", "comm", "raise_delay_ns"),
    rows=5,
)
def softirq_chains(timeline: Timeline) -> pd.DataFrame:
    """Each NET_RX softirq: what raised it, how long it waited, what it polled, where its time went.

    A row per NET_RX that was seen from entry to exit, by CPU and time: cpu, ordinal, irq, name,
    irq_context, irq_ns, irq_gap_ns, raise_ns, entry_ns, exit_ns, raise_delay_ns, call, round,
    origin, in_kthread, cost_class, tid, comm, device, devices, polls, packets, poll_ns,
    outside_polls_ns, nested_ns, wall_ns. NA: polls, packets and device where napi_poll was not
    recorded; irq and its columns where no interrupt is known to have raised it; poll_ns,
    outside_polls_ns and nested_ns where the window holds a part of it only. Of more than 200,000
    those that began first.

    Source: softirqs, hardirqs, polls and coverage. Definitions: docs/definitions.md.
    """
    return paired(timeline).chains


@softirq_chains.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # Of all chains. in_all: None for a share of none; by_device: the mean of each part; by_origin
    # and by_interrupt: by what, and in which interrupts, softirqs were raised, most often first.
    sums = paired(answer.timeline).chain_sums
    in_kthread = sums.count("in_kthread")
    number, own = sum(in_kthread.values()), in_kthread.get("yes", 0)
    in_all = {
        "softirqs": number,
        "in_kthread": own,
        "in_kthread_share": own / number if number else None,
        "raises_known": sums.count("raised").get("yes", 0),
    }
    return {
        "in_all": in_all,
        "by_device": mean_parts(sums.by_device),
        "by_origin": _counts(sums, "origin"),
        "by_interrupt": _counts(sums, "name"),
    }


def _counts(sums: ChainSums, what: str) -> pd.DataFrame:
    found = sums.count(what)
    counts = {what: pd.Series(list(found), dtype="str"), "softirqs": list(found.values())}
    return pd.DataFrame(counts).astype({"softirqs": "int64"})


@softirq_chains.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    parts = answer.tables["by_device"]
    polled = parts[parts["poll_ns"] > 0].head(1)
    return {
        **answer.parts["in_all"],
        "origins": records(answer.tables["by_origin"]),
        "interrupts": records(answer.tables["by_interrupt"].head(4)),
        "means": next(iter(records(polled.assign(device=polled["device"].map(called)))), None),
        "listed": len(answer.frame),
    }


@softirq_chains.plot(
    title="Where the time of a NET_RX goes, by device",
    height=lambda answer: 1.3 + 0.42 * len(answer.tables["by_device"]),
    panels=lambda answer: [{}] if len(answer.frame) else [],
)
def _anatomy(ax: "Axes", answer: "Answer") -> None:
    from .plots import anatomy

    anatomy(ax, answer.tables["by_device"])
