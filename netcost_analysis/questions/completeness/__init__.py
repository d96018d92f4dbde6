"""What a recording missed without a word: its events against what the kernel counted meanwhile.

A ring buffer that overflows says so. A recorder that never sees an event does not; the host's own
counters, read before and after, do. The comparison is completeness(); what follows from it for the
tasks' losses is in unrecorded.py.
"""

from ...coverage import coverages as _coverages
from ..question import question
from .compare import completeness
from .known import Completeness

coverages = question(topic="completeness")(_coverages)

__all__ = ["Completeness", "completeness", "coverages"]
