"""Energy: joules by component, who they can be laid at, and what wakes idle CPUs.

What wakes CPUs that idle (idle_wakeups) is counted in the trace.
"""

from .idle_wakeups import IdleWakeups, idle_wakeups

__all__ = ["IdleWakeups", "idle_wakeups"]
