"""Sweeps: what each data path costs at each rate of packets, which is cheaper, where it ends.

A row for each condition (by_rate), what mpstat says (cpu_by_rate), whose packets cost less
(cheaper_path), what a second destination adds (destinations), what ended a curve and what its costs
say of its end (saturation), and how a sweep was made (made_by).
"""

from .by_rate import by_rate as by_rate
from .by_rate import saturation as saturation
from .pairs import cheaper_path as cheaper_path
from .pairs import destinations as destinations
from .step_figures import cpu_by_rate as cpu_by_rate
from .steps import made_by as made_by
