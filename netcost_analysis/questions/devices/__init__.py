"""What each network device costs, and is: CPU time, traffic, and what looks wrong about it.

Document 004's question: which interface takes how much CPU time, for how many packets, and is any
of it an interface that nobody uses. device_time and device_matrix are intrstat for Linux;
device_traffic, device_saturation and assumed_rates are nicstat, over true intervals; device_cost
joins the two; device_flags says what is suspicious and why; interfaces and device_lines say what is
known of the interfaces and of the interrupt lines that serve them.
"""

from ...capture import links
from ..question import question
from .device_cost import device_cost
from .device_flags import device_flags
from .device_lines import device_lines
from .device_saturation import device_saturation
from .device_time import DeviceMatrix, device_matrix, device_time
from .device_traffic import assumed_rates, device_traffic

interfaces = question(topic="devices")(links.interfaces)

__all__ = [
    "DeviceMatrix",
    "assumed_rates",
    "device_cost",
    "device_flags",
    "device_lines",
    "device_matrix",
    "device_saturation",
    "device_time",
    "device_traffic",
    "interfaces",
]
