"""What a recording missed: its events compared with what the kernel counted meanwhile.

A ring buffer that overflows says so. A recorder that never sees an event does not, but the host's
own counters, read before and after, show it. completeness() compares them; unrecorded.py computes
what that means for the time that was stolen from tasks.
"""

from .completeness import completeness
from .recording import caveats, coverages, provenance, recording
from .unanswered import unanswered

__all__ = [
    "caveats",
    "completeness",
    "coverages",
    "provenance",
    "recording",
    "unanswered",
]
