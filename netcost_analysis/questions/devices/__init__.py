"""What each network device costs, and is: CPU time, traffic, and what looks wrong about it.

Document 004's question: which interface takes how much CPU time, for how many packets, and is any
of it an interface that nobody uses: device_summary. device_time, device_matrix and
device_time_series are intrstat for Linux; device_totals, device_traffic, device_saturation and
assumed_rates are nicstat, over true intervals; device_cost joins the two; device_flags says what is
suspicious and why; interfaces and device_lines say what is known of the interfaces and of the
interrupt lines that serve them.
"""

from .assumed_rates import assumed_rates
from .device_cost import device_cost
from .device_flags import device_flags
from .device_lines import device_lines
from .device_matrix import device_matrix
from .device_saturation import device_saturation
from .device_summary import device_summary
from .device_time import device_time
from .device_time_series import device_time_series
from .device_totals import device_totals
from .device_traffic import device_traffic
from .interfaces import interfaces

__all__ = [
    "assumed_rates",
    "device_cost",
    "device_flags",
    "device_lines",
    "device_matrix",
    "device_saturation",
    "device_summary",
    "device_time",
    "device_time_series",
    "device_totals",
    "device_traffic",
    "interfaces",
]
