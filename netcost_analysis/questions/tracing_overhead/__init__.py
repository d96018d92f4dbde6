"""Tracing overhead: what tracing itself takes, and what the figures would be without it.

event_cost tells what an event costs, tracing_cost what the events took from each CPU and victim.
corrected_stolen shows corrected figures beside those of stolen(), and network_overhead tells how
much of the network's time is tracing. No other module subtracts any of this from its figures.
"""

from .event_cost import event_cost
from .tracing_cost import corrected_stolen, network_overhead, tracing_cost

__all__ = ["corrected_stolen", "event_cost", "network_overhead", "tracing_cost"]
