# trace.dat written from descriptions, as perfdata writes perf.data. Low layer: ring.py, options.py,
# contents.py, encoded.py; high layer: own_events.py, told.py. Beside them report.py:
# what trace-cmd says of such a file.

from .contents import Buffer, Contents
from .encoded import Packing, encoded
from .ring import Entry, Missed, Style, ring
from .told import Beside, Dress, write_trace_dat, write_tracefs

__all__ = [
    "Beside",
    "Buffer",
    "Contents",
    "Dress",
    "Entry",
    "Missed",
    "Packing",
    "Style",
    "encoded",
    "ring",
    "write_trace_dat",
    "write_tracefs",
]
