"""The pictures: each takes tidy DataFrames and an Axes, and draws; none opens a capture.

One palette (plots_palette): blues for where time was spent, warm colours for at whose cost.
"""

from .plots_answer import answer, thieves
from .plots_batches import batches, cost_per_packet, packets_per_softirq
from .plots_estimates import estimates
from .plots_lanes import lanes
from .plots_palette import KIND, KIND_NAMES, PART, PART_NAMES, style, time_unit
from .plots_time import stolen_over_time
from .units import round_width as bin_width

__all__ = [
    "KIND",
    "KIND_NAMES",
    "PART",
    "PART_NAMES",
    "answer",
    "batches",
    "bin_width",
    "cost_per_packet",
    "estimates",
    "lanes",
    "packets_per_softirq",
    "stolen_over_time",
    "style",
    "thieves",
    "time_unit",
]
