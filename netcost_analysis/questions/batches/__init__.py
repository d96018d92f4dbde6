"""Softirqs and batches: how packets reach the CPU, in what batches, and what a batch costs.

net_rx_totals has what NET_RX softirqs did in total, and detail_window the part shown of a large
capture. softirq_chains leads from an interrupt to the softirq that it raised and the polls in it.
poll_sizes and softirq_sizes tell how many packets a poll and a softirq handle, softirq_lengths how
long softirqs run. squeezes and softirq_runs tell what stopped them (kernel_limits), irq_gaps and
raise_delays how long things wait. long_softirqs shows what is out of the ordinary, rps_dispatch
what only steers. poll_costs and packet_costs give the fixed cost of a poll and the cost of a
packet. rate_curve shows how the CPU share grows with the packet rate.
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
