"""Fleets: many captures together, as netcost fleet keeps their answers.

What there is (fleet_captures) and what cannot be read (unreadable); the network's share and what a
packet costs by_host, by_kernel, by_device and by_driver; captures that are far from others like
them (outliers), and when costs changed (trend); histograms of all captures together
(fleet_poll_sizes, fleet_softirq_lengths).
"""

from .by_device import by_device
from .by_driver import by_driver
from .by_host import by_host
from .by_kernel import by_kernel
from .fleet_captures import FleetCaptures, fleet_captures
from .fleet_poll_sizes import fleet_poll_sizes
from .fleet_softirq_lengths import fleet_softirq_lengths
from .outliers import outliers
from .trend import Trend, trend
from .unreadable import unreadable

__all__ = [
    "FleetCaptures",
    "Trend",
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
