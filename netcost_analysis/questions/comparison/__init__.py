"""Comparisons: what changed from one run set to another, where it went, and how sure that is."""

from .changes import Changes, changes
from .comparability import comparability
from .cost_tree import CostTree, cost_tree
from .observations import Observations, observations
from .one_cpu_control import OneCpuControl, one_cpu_control
from .other_causes import OtherCauses, other_causes
from .runs_compared import runs_compared
from .throughput_prediction import ThroughputPrediction, throughput_prediction

__all__ = [
    "Changes",
    "CostTree",
    "Observations",
    "OneCpuControl",
    "OtherCauses",
    "ThroughputPrediction",
    "changes",
    "comparability",
    "cost_tree",
    "observations",
    "one_cpu_control",
    "other_causes",
    "runs_compared",
    "throughput_prediction",
]
