"""Softirqs and batches: how packets reach the CPU, in what portions, and what a portion costs.

What NET_RX softirqs did in all (net_rx_totals), of a large capture in a part (detail_window). From
an interrupt to the softirq that it raised to the polls in it (softirq_chains); how many packets a
poll and a softirq handle (poll_sizes, softirq_sizes), how long softirqs run (softirq_lengths); what
stopped them (squeezes, softirq_runs against kernel_limits); how long things wait (irq_gaps,
raise_delays); what is out of the ordinary (long_softirqs) and what only steers (rps_dispatch); what
a poll costs however few packets it has, and a packet however many there are (poll_costs,
packet_costs), and how the CPU share grows with the rate of packets (rate_curve).
"""

from .kernel_limits import kernel_limits as kernel_limits
from .poll_costs import packet_costs as packet_costs
from .poll_costs import poll_costs as poll_costs
from .poll_sizes import device_batches as device_batches
from .poll_sizes import poll_sizes as poll_sizes
from .rate_curve import rate_curve as rate_curve
from .softirq_chains import detail_window as detail_window
from .softirq_chains import long_softirqs as long_softirqs
from .softirq_chains import net_rx_totals as net_rx_totals
from .softirq_chains import softirq_chains as softirq_chains
from .softirq_chains import softirq_runs as softirq_runs
from .softirqs import irq_gaps as irq_gaps
from .softirqs import raise_delays as raise_delays
from .softirqs import softirq_lengths as softirq_lengths
from .softirqs import softirq_sizes as softirq_sizes
from .softnet import rps_dispatch as rps_dispatch
from .squeezes import squeezes as squeezes
