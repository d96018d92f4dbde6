# Every way in which trace-cmd and its kernels could have written one timeline.

from collections.abc import Callable

from hypothesis import strategies as st

from support.perfdata import MACHINES, Machine, Recording, cpu, recording
from support.perfdata import happenings as h

from .options import trace_id, uname
from .ring import Style
from .told import Dress
from .version7 import Packing

# In the instance beside: read by nobody who asks for the top buffer.
OTHER = recording(cpu(0, h.SoftirqRaise(5, 1), h.Lost(6, 3), h.SoftirqRaise(7, 2)))


@st.composite
def styles(draw: st.DrawFn, size: int) -> Style:
    return Style(
        size,
        draw(st.sampled_from(["extend", "absolute"])),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.sampled_from([None, None, 1, 3])),
        draw(st.sampled_from([0, 0xA5, 0xFF])),
        draw(st.booleans()),
    )


@st.composite
def packings(draw: st.DrawFn) -> Packing:
    return Packing(
        draw(st.sampled_from(["zstd", "zlib", "none"])),
        draw(st.sampled_from([1, 2, 10])),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.sampled_from([None, 1, 3])),
    )


@st.composite
def dresses(draw: st.DrawFn) -> Dress:
    version = draw(st.sampled_from([6, 7]))
    # What version 6 and the top buffer have is the file's; newer kernels' sub-buffers are larger.
    page = draw(st.sampled_from([4096, 8192, 65536]))
    sub_buffer = draw(st.sampled_from([page, max(page, 16384)])) if version == 7 else page
    return Dress(
        version=version,
        packing=draw(packings()),
        style=draw(styles(sub_buffer)),
        page_size=page,
        rank=draw(ranks()),
        discard_each=draw(st.sampled_from([None, 1, 5])),
        options=draw(st.sampled_from([(), (uname("Linux"), trace_id(1))])),
        instances=draw(st.sampled_from([{}, {"other": OTHER}])),
        user_word=draw(st.sampled_from([None, 4])),
        old_clock=draw(st.booleans()),
    )


def ranks() -> st.SearchStrategy[Callable[[int], int]]:
    return st.permutations(range(16)).map(lambda order: lambda number: order[number % 16])


def machines() -> st.SearchStrategy[Machine]:
    return st.sampled_from(list(MACHINES.values()))


# CPUs that were offline leave gaps in the numbers.
def with_gaps(told: Recording, step: int) -> Recording:
    cpus = [cpu(step * one.number + step // 2, *one.happenings, task=one.task) for one in told.cpus]
    return recording(*cpus, known=told.known)
