"""What would give it back: remedies, and the most that each could return to the victim.

Bounds of one recording (remedies): of what packet processing took from a task, what steering,
interrupt affinity, no deferral of frees, and larger batches could leave to it, and who would pay.
"""

from .remedies import remedies

__all__ = ["remedies"]
