"""The pictures: each takes tidy DataFrames and an Axes, and draws; none opens a capture.

One palette (plots_palette): blues for where time was spent, warm colours for at whose cost.
"""

from ..units import round_width as bin_width
from .answer import answer, thieves
from .batches import batches, cost_by_batch, packets_per_softirq
from .estimates import estimates
from .lanes import lanes
from .palette import KIND, KIND_NAMES, PART, PART_NAMES, style, time_unit
from .remedies import remedies
from .time import stolen_over_time

__all__ = [
    "KIND",
    "KIND_NAMES",
    "PART",
    "PART_NAMES",
    "answer",
    "batches",
    "bin_width",
    "cost_by_batch",
    "estimates",
    "lanes",
    "packets_per_softirq",
    "remedies",
    "stolen_over_time",
    "style",
    "thieves",
    "time_unit",
]
