"""What a recording missed unnoticed: its events against what the kernel counted meanwhile.

A ring buffer that overflows says so. A recorder that never sees an event does not; the host's own
counters, read before and after, do. The comparison is completeness(); what follows from it for the
tasks' losses is in unrecorded.py.
"""

from .caveats import caveats
from .completeness import completeness
from .coverages import coverages
from .provenance import provenance
from .recording import recording
from .unanswered import unanswered

__all__ = [
    "caveats",
    "completeness",
    "coverages",
    "provenance",
    "recording",
    "unanswered",
]
