"""Fleets: many captures together, as netcost fleet keeps their answers."""

from .captures import fleet_captures, unreadable
from .costs import by_device, by_driver, by_host, by_kernel, fleet_poll_sizes, fleet_softirq_lengths
from .outliers import outliers
from .trend import trend

__all__ = [
    "by_device",
    "by_driver",
    "by_host",
    "by_kernel",
    "fleet_captures",
    "fleet_poll_sizes",
    "fleet_softirq_lengths",
    "outliers",
    "trend",
    "unreadable",
]
