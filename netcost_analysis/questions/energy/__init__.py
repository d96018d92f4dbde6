"""Energy: joules by domain, charged to owners by busy time, and what wakes idle CPUs.

power gives joules and watts by domain, and energy_by_owner charges a domain's energy to the owners
of CPU time. energy_by_size gives the energy of a gigabyte and of a packet over the steps of an
experiment. idle_wakeups shows what wakes idle CPUs; it needs no counter, only the trace.
"""

from .energy_by_owner import energy_by_owner, idle_wakeups
from .power import energy_by_size, power

__all__ = ["energy_by_owner", "energy_by_size", "idle_wakeups", "power"]
