"""Stolen time: whose CPU time it was, who took it, when, and for how long.

What a workload loses to interrupts, the question of
https://people.kernel.org/dsahern/the-cpu-cost-of-networking-on-a-host, beyond the sums of stolen()
and ledger(). rolling_stolen shows it over time, cost_classes by cost class and cgroups by cgroup.
thieves and queues lead down to device and queue, and episodes has the longest episodes.
effective_share compares with what a monitor shows. handovers shows what ksoftirqd and NAPI threads
took over, and lifetimes how long each task lived.
"""

from ..ledger_tables import ledger as ledger
from ..lifetimes import lifetimes as lifetimes
from ..lifetimes import waited_for as waited_for
from ..network_cost import network_cost as network_cost
from ..stolen import stolen as stolen
from .cgroups import cgroups as cgroups
from .effective_share import effective_share as effective_share
from .episodes import episodes as episodes
from .example import example as example
from .handovers import handovers as handovers
from .headline import headline as headline
from .rolling_stolen import over_time as over_time
from .rolling_stolen import rolling_stolen as rolling_stolen
from .thieves import cost_classes as cost_classes
from .thieves import queues as queues
from .thieves import thieves as thieves
