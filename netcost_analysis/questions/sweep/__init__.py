"""Sweeps: what each data path costs at each packet rate, which is cheaper, where each ends.

by_rate has a row per condition, and cpu_by_rate what mpstat says. cheaper_path tells whose packets
cost less, and destinations what a second destination adds. saturation tells what ended a curve, and
what its costs predict. made_by tells how a sweep was made.
"""

from .by_rate import by_rate as by_rate
from .by_rate import saturation as saturation
from .pairs import cheaper_path as cheaper_path
from .pairs import destinations as destinations
from .step_figures import cpu_by_rate as cpu_by_rate
from .steps import made_by as made_by
