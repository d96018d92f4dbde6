"""Stolen time: whose CPU time it was, who took it, when, and for how long.

What a workload loses to interrupts, the question of
https://people.kernel.org/dsahern/the-cpu-cost-of-networking-on-a-host, beyond the sums of stolen()
and ledger(): over time (rolling_stolen), by
cost class (cost_classes) and cgroup (cgroups), down to device and queue (thieves, queues), the
longest episodes of it (episodes), against what a monitor shows (effective_share), what ksoftirqd
and NAPI's threads took over (handovers), and how long each task was there (lifetimes).
"""

from ..ledger_tables import ledger
from ..lifetimes import lifetimes, waited_for
from ..network_cost import network_cost
from ..stolen import stolen
from .cgroups import cgroups
from .effective_share import effective_share
from .episodes import episodes
from .example import example
from .handovers import handovers
from .headline import headline
from .rolling_stolen import over_time, rolling_stolen
from .thieves import cost_classes, queues, thieves

__all__ = [
    "cgroups",
    "cost_classes",
    "effective_share",
    "episodes",
    "example",
    "handovers",
    "headline",
    "ledger",
    "lifetimes",
    "network_cost",
    "over_time",
    "queues",
    "rolling_stolen",
    "stolen",
    "thieves",
    "waited_for",
]
