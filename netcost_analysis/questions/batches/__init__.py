"""Softirqs and batches: how packets reach the CPU, in what portions, and what a portion costs.

From an interrupt to the softirq that it raised to the polls in it (softirq_chains); how many
packets a poll and a softirq handle (batch_sizes, softirq_sizes); what stopped them (squeezes,
softirq_runs against kernel_limits); how long things wait (irq_gaps, raise_delays); what is out of
the ordinary (long_softirqs) and what only steers (rps_dispatch); what a poll costs however few
packets it has, and a packet however many there are (poll_costs, packet_costs), and how the CPU
share grows with the rate of packets (rate_curve).
"""

from .chain_rows import softirq_chains
from .device_batches import device_batches
from .economics import packet_costs, poll_costs
from .exhaustion import Exhaustion, squeezes
from .invocations import softirq_runs
from .net_rx_batches import net_rx_batches
from .outliers import long_softirqs, rps_dispatch
from .poll_sizes import batch_sizes, softirq_sizes
from .rates import rate_curve
from .settings import KernelLimits, kernel_limits
from .waits import irq_gaps, raise_delays

__all__ = [
    "Exhaustion",
    "KernelLimits",
    "batch_sizes",
    "device_batches",
    "irq_gaps",
    "kernel_limits",
    "long_softirqs",
    "net_rx_batches",
    "packet_costs",
    "poll_costs",
    "raise_delays",
    "rate_curve",
    "rps_dispatch",
    "softirq_chains",
    "softirq_runs",
    "softirq_sizes",
    "squeezes",
]
