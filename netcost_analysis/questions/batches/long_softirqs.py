# NET_RX softirqs that are out of the ordinary.

from ...answers.answer import Answer
from ...answers.question import question
from ...timeline.timeline import Timeline
from .paired import INPUTS, Picked, outliers

_USUAL = Picked()


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
    longer_ns: int = _USUAL.longer_ns,
    fewer_packets: int = _USUAL.fewer_packets,
    longest: int = _USUAL.longest,
) -> Answer:
    """NET_RX that took long for few packets, and the longest few whatever they did.

    Rows of softirq_chains, the longest first, 200,000 at most. Long is, unless given, document
    000's "well over 20,000 usec", and few are less than its 64 packets; without napi_poll nobody
    knows the packets, and there are the longest alone. What an interrupt, or on PREEMPT_RT another
    task, had of one is nested_ns. Source: softirq_chains.
    """
    frame = outliers(timeline, Picked(longer_ns, fewer_packets, longest))
    few = int((frame["picked"] == "few packets").sum())
    is_known = bool(frame["packets"].notna().any())
    return Answer(
        frame,
        few_softirqs=few if is_known else None,
        longer_ns=longer_ns,
        fewer_packets=fewer_packets,
    )
