"""Softirqs and batches: how packets reach the CPU, in what portions, and what a portion costs.

What NET_RX softirqs did in all (net_rx_totals), of a large capture in a part (detail_window). From
an interrupt to the softirq that it raised to the polls in it (softirq_chains); how many packets a
poll and a softirq handle (poll_sizes, softirq_sizes), how long softirqs run (softirq_lengths); what
stopped them (squeezes, softirq_runs against kernel_limits); how long things wait (irq_gaps,
raise_delays); what is out of the ordinary (long_softirqs) and what only steers (rps_dispatch); what
a poll costs however few packets it has, and a packet however many there are (poll_costs,
packet_costs), and how the CPU share grows with the rate of packets (rate_curve).
"""

from .kernel_limits import kernel_limits
from .poll_costs import packet_costs, poll_costs
from .poll_sizes import device_batches, poll_sizes
from .rate_curve import rate_curve
from .softirq_chains import (
    detail_window,
    long_softirqs,
    net_rx_totals,
    softirq_chains,
    softirq_runs,
)
from .softirqs import irq_gaps, raise_delays, softirq_lengths, softirq_sizes
from .softnet import rps_dispatch
from .squeezes import squeezes

__all__ = [
    "detail_window",
    "device_batches",
    "irq_gaps",
    "kernel_limits",
    "long_softirqs",
    "net_rx_totals",
    "packet_costs",
    "poll_costs",
    "poll_sizes",
    "raise_delays",
    "rate_curve",
    "rps_dispatch",
    "softirq_chains",
    "softirq_lengths",
    "softirq_runs",
    "softirq_sizes",
    "squeezes",
]
