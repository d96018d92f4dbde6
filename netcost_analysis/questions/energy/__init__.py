"""Energy: joules by domain, whose they are by busy time, and what wakes idle CPUs.

Joules and watts by domain (power), a domain's energy laid at the ledger's owners of time
(energy_by_owner), a gigabyte's and a packet's over the steps of an experiment (energy_by_size), and
what wakes CPUs that idle (idle_wakeups), which takes no counter: it is in the trace.
"""

from .energy_by_owner import energy_by_owner, idle_wakeups
from .power import energy_by_size, power

__all__ = ["energy_by_owner", "energy_by_size", "idle_wakeups", "power"]
