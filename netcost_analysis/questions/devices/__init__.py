"""What each network device costs, and is: CPU time, traffic, and what looks wrong about it.

Which interface takes how much CPU time, for how many packets, and is any of it one that nobody
uses (Brendan Gregg, How much CPU does a down interface chew?): device_summary. device_time,
device_matrix and device_time_series are intrstat for Linux; device_totals, device_traffic,
device_saturation and assumed_rates are nicstat, over true intervals; device_cost joins the two;
device_flags says what is suspicious and why; interfaces and device_lines say what is known of the
interfaces and of the interrupt lines that serve them.
"""

from .device_cost import device_cost as device_cost
from .device_flags import device_flags as device_flags
from .device_flags import device_summary as device_summary
from .device_flags import interfaces as interfaces
from .device_lines import device_lines as device_lines
from .device_saturation import device_saturation as device_saturation
from .device_time import device_matrix as device_matrix
from .device_time import device_time as device_time
from .device_time import device_time_series as device_time_series
from .device_traffic import assumed_rates as assumed_rates
from .device_traffic import device_totals as device_totals
from .device_traffic import device_traffic as device_traffic
