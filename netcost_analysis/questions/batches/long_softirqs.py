# NET_RX softirqs that are out of the ordinary.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...timeline.timeline import Timeline
from .paired import INPUTS, Picked, paired

if TYPE_CHECKING:
    from ...answers.answer import Answer


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    may_be_0=("longer_ns", "fewer_packets", "longest"),
    inputs=INPUTS,
    columns=(
        *("wall_ns", "cpu", "comm", "device", "polls", "packets"),
        *("poll_ns", "outside_polls_ns", "nested_ns", "entry_ns", "picked"),
    ),
    rows=12,
)
def long_softirqs(
    timeline: Timeline,
    longer_ns: int = 20_000_000,
    fewer_packets: int = 64,
    longest: int = 5,
) -> pd.DataFrame:
    """NET_RX that took long for few packets, and the longest few whatever they did.

    - longer_ns: How long is long; by default document 000's "well over 20,000 usec".
    - fewer_packets: Below how many packets are few; by default document 000's 64. Without napi_poll
      nobody knows: then the longest alone.
    - longest: How many of the longest to show.

    Rows of softirq_chains, the longest first, 200,000 at most, with picked: "few packets" or
    "longest". What an interrupt, or on PREEMPT_RT another task, had of one is nested_ns.

    Source: softirq_chains.
    """
    return paired(timeline, picked=Picked(longer_ns, fewer_packets, longest)).picked


@long_softirqs.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    rows = answer.frame
    limits = {**long_softirqs.options, **answer.options}
    return {
        "softirqs": len(rows),
        "few": len(rows[rows["picked"] == "few packets"]),
        "packets_known": bool(rows["packets"].notna().any()),
        "longer_ns": limits["longer_ns"],
        "fewer_packets": limits["fewer_packets"],
    }
