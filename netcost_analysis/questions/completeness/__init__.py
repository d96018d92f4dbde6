"""What a recording missed without a word: its events against what the kernel counted meanwhile.

A ring buffer that overflows says so. A recorder that never sees an event does not; the host's own
counters, read before and after, do. The comparison is completeness(); what follows from it for the
tasks' losses is in unrecorded.py.
"""

from .compare import completeness
from .known import Completeness

__all__ = ["Completeness", "completeness"]
