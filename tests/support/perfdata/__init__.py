# Captures written from descriptions: no opaque binaries in this repository. Low layer: machine.py,
# attr.py, sample.py, records.py, synthesised.py, encoder.py, formats.py, tracing.py, features.py,
# container.py, pipe.py, packing.py; high layer: happenings.py, simulate.py, timeline.py.

from .attr import USUAL, Attr, SampleType
from .container import write_directory, write_file
from .encoder import Encoder
from .features import Header
from .formats import Common, Field, Format
from .machine import MACHINES, X86_64, Machine
from .packing import wrapped
from .pipe import write_old_pipe, write_pipe
from .records import Comm, Fork, Mmap, Mmap2, Record, Throttle
from .sample import Branch, Counts, Sample, Where
from .synthesised import Auxtrace, Bytes, EventType, FinishedRound, IdIndex, Other
from .timeline import Cpu, Recording, cpu, recording

__all__ = [
    "MACHINES",
    "USUAL",
    "X86_64",
    "Attr",
    "Auxtrace",
    "Branch",
    "Bytes",
    "Comm",
    "Common",
    "Counts",
    "Cpu",
    "Encoder",
    "EventType",
    "Field",
    "FinishedRound",
    "Fork",
    "Format",
    "Header",
    "IdIndex",
    "Machine",
    "Mmap",
    "Mmap2",
    "Other",
    "Record",
    "Recording",
    "Sample",
    "SampleType",
    "Throttle",
    "Where",
    "cpu",
    "recording",
    "wrapped",
    "write_directory",
    "write_file",
    "write_old_pipe",
    "write_pipe",
]
