# What of the network's softirqs a recording lacks: where it is much, no cost of a packet is known.

from typing import TYPE_CHECKING

from .completeness import all_compared

if TYPE_CHECKING:
    from ...capture.capture import Capture

# Of the softirqs that the kernel counted: with more of them missing nothing is computed of a
# packet's cost.
MAX_MISSING = 0.05
_NETWORK = ("NET_TX", "NET_RX")


def network_missing(capture: "Capture", cpu: int | None = None) -> float:
    # The share that is proved missing, of a CPU or of all; 0 where nothing was counted.
    rows = [
        row
        for row in all_compared(capture).rows
        if row.what == "softirq" and row.counter in _NETWORK and cpu in (None, row.cpu)
    ]
    counted = sum(row.counted for row in rows)
    return sum(row.missing_least for row in rows) / counted if counted else 0.0
