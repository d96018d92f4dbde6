"""What each network device is and costs: CPU time, traffic, and what looks wrong with it.

device_summary tells how much CPU time each interface takes, for how many packets, and whether
nobody uses it (Brendan Gregg, How much CPU does a down interface chew?). device_time, device_matrix
and device_time_series are intrstat for Linux. device_totals, device_traffic, device_saturation and
assumed_rates are nicstat, over true intervals. device_cost joins the two. device_flags says what is
suspicious and why. interfaces and device_lines say what is known about the interfaces and the
interrupt lines that serve them.
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
