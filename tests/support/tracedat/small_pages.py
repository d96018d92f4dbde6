# A ring's pages by themselves, and the trace.dat to put them in: what fuzzing of pages starts from.

from dataclasses import replace

from support.perfdata import MACHINES, X86_64, Recording

from . import version6
from .small import EVERYTHING, USUAL, networking
from .told import Dress

KINDS = (
    (USUAL, X86_64),
    (replace(EVERYTHING, instances={}), X86_64),
    (USUAL, MACHINES["s390x"]),
    (USUAL, MACHINES["i386"]),
)


# For each kind: where the file keeps the size of its one ring, the file up to the ring, and that.
def small_pages() -> list[tuple[int, bytes, bytes]]:
    return [parts(dress, networking(machine)) for dress, machine in KINDS]


def parts(dress: Dress, told: Recording) -> tuple[int, bytes, bytes]:
    contents = dress.contents(told)
    pages = contents.top.rings[0]
    alone = replace(contents, buffers=(replace(contents.top, rings={0: pages}),))
    whole = version6.write(alone)
    place = whole.index(b"flyrecord\0") + 10 + 8
    return place, whole[: whole.index(pages)], pages
