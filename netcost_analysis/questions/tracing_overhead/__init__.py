"""Tracing overhead: what tracing itself takes, and what the figures would be without it.

What an event costs (event_cost), what the events took from each CPU and victim (tracing_cost),
corrected figures beside those of stolen() (corrected_stolen), and what of the network's time they
are (network_overhead). No other module's figure ever has anything of this subtracted.
"""

from .event_cost import event_cost
from .tracing_cost import corrected_stolen, network_overhead, tracing_cost

__all__ = ["corrected_stolen", "event_cost", "network_overhead", "tracing_cost"]
