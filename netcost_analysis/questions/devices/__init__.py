"""What each network device costs, and is: CPU time, traffic, and what looks wrong about it.

Which interface takes how much CPU time, for how many packets, and is any of it one that nobody
uses (Brendan Gregg, How much CPU does a down interface chew?): device_summary. device_time,
device_matrix and device_time_series are intrstat for Linux; device_totals, device_traffic,
device_saturation and assumed_rates are nicstat, over true intervals; device_cost joins the two;
device_flags says what is suspicious and why; interfaces and device_lines say what is known of the
interfaces and of the interrupt lines that serve them.
"""

from .device_cost import device_cost
from .device_flags import device_flags, device_summary, interfaces
from .device_lines import device_lines
from .device_saturation import device_saturation
from .device_time import device_matrix, device_time, device_time_series
from .device_traffic import assumed_rates, device_totals, device_traffic

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
