"""The cost of looking: what tracing itself takes, and what the figures would be without it.

What an event costs (event_cost), what the events took from each CPU and victim (tracing_cost), and
corrected figures beside those of stolen() (corrected_stolen). No other module's figure ever has
anything of this subtracted.
"""

from .corrected import corrected_stolen, tracing_cost
from .cost import event_cost

__all__ = ["corrected_stolen", "event_cost", "tracing_cost"]
