# Readers that do to mutant 3 what the mutation test must notice, and read the others.

import mmap
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from netcost_analysis._native import Capture, CaptureError
from support import mutation_worker
from support.mutation_worker import MIB, RESIDENT, RESIDENT_PER_BYTE, Outcome, Reader, read

# Waiting for the harness to lose its patience is what these tests' time goes to; a busy machine
# must not let the second run out first.
mutation_worker.SECONDS, mutation_worker.STUCK = 0.3, 3


class PanicException(BaseException):
    """What pyo3 raises for a panic: no Exception, so `except Exception` lets it through."""


def at_third(does: Callable[[], object]) -> Reader:
    def reader(path: str, outcome: Outcome) -> None:
        if outcome.number == 3:
            does()
        read(path, outcome)

    return reader


# A capture whose scan does something else.
def scanning(does: Callable[[], object]) -> Reader:
    class Bad:
        def __init__(self, path: str) -> None:
            self.good = Capture(path)

        def scan(self) -> object:
            return does()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.good, name)

    def reader(path: str, outcome: Outcome) -> None:
        read(path, outcome, Bad if outcome.number == 3 else Capture)

    return reader


def raising(error: BaseException) -> Callable[[], object]:
    def raises() -> object:
        raise error

    return raises


def spins() -> None:
    while True:
        pass


# More than a wrapped capture may be unpacked to.
def unpacks_much() -> None:
    with tempfile.TemporaryFile() as file:
        file.truncate(mutation_worker.WRITTEN + 1)


TOO_MUCH = RESIDENT + RESIDENT_PER_BYTE * (1 << 15) + 8 * MIB

spinning = at_third(spins)
stuck = at_third(lambda: time.sleep(30))
dying = at_third(lambda: os.kill(os.getpid(), signal.SIGSEGV))
leaving = at_third(lambda: sys.exit(3))
touching = at_third(lambda: b"x" * TOO_MUCH)
reserving = at_third(lambda: mmap.mmap(-1, 1 << 30))
unpacking = at_third(unpacks_much)
muttering = at_third(lambda: os.write(2, b"thread panicked"))
panicking = scanning(raising(PanicException("index out of bounds")))
raw_error = scanning(raising(OSError(22, "Invalid argument")))
two_lines = scanning(raising(CaptureError("first\nsecond")))
escaping = scanning(lambda: {"notes": ["colour \x1b[31m"]})
