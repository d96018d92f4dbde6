# Captures written from descriptions: no opaque binaries in this repository. Low layer: machine.py,
# attr.py, sample.py, records.py, formats.py, features.py, container.py; high layer: happenings.py,
# simulate.py, timeline.py.

from .attr import USUAL, Attr, SampleType
from .container import Encoder, wrapped, write_directory, write_file, write_pipe
from .features import Header
from .formats import Common, Field, Format
from .machine import MACHINES, X86_64, Machine
from .records import (
    Auxtrace,
    Bytes,
    Comm,
    FinishedRound,
    Fork,
    IdIndex,
    Mmap,
    Mmap2,
    Other,
    Record,
    Throttle,
)
from .sample import Branch, Counts, Sample, Where
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
    "write_pipe",
]
