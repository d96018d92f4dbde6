"""Comparisons: what changed from one run set to another, where it went, and how sure that is."""

from .changes import changes
from .comparability import comparability, observations, runs_compared
from .conditions import one_cpu_control
from .cost_tree import cost_tree
from .other_causes import other_causes
from .throughput_prediction import throughput_prediction

__all__ = [
    "changes",
    "comparability",
    "cost_tree",
    "observations",
    "one_cpu_control",
    "other_causes",
    "runs_compared",
    "throughput_prediction",
]
