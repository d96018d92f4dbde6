# Captures written from descriptions: no opaque binaries in this repository. Low layer: records.py,
# formats.py, features.py, container.py; high layer: happenings.py, simulate.py, timeline.py.

from .container import write_directory, write_file, write_pipe
from .features import Header
from .formats import Common, Field, Format
from .machine import Machine
from .records import (
    USUAL,
    Attr,
    Auxtrace,
    Comm,
    Encoder,
    FinishedRound,
    Fork,
    Mmap2,
    Other,
    Record,
    Sample,
    SampleType,
    Throttle,
    Where,
)
from .timeline import Cpu, Recording, cpu, recording

__all__ = [
    "USUAL",
    "Attr",
    "Auxtrace",
    "Comm",
    "Common",
    "Cpu",
    "Encoder",
    "Field",
    "FinishedRound",
    "Fork",
    "Format",
    "Header",
    "Machine",
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
    "write_directory",
    "write_file",
    "write_pipe",
]
