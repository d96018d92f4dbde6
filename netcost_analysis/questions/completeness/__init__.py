"""What a recording missed: its events compared with the kernel's own counts.

A ring buffer that overflows says so. A recorder that never sees an event does not, but the host's
own counters, read before and after, show it. completeness() compares them; unrecorded.py computes
what that means for the time that was stolen from tasks.
"""

from .completeness import completeness as completeness
from .recording import caveats as caveats
from .recording import coverages as coverages
from .recording import provenance as provenance
from .recording import recording as recording
from .unanswered import unanswered as unanswered
