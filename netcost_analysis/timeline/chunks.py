# A timeline in pieces whose tables fit into memory, whatever the capture's size.

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .timeline import Timeline

# Their tables take some 500 MB.
_MOST_SEGMENTS = 3_000_000
# Pieces are made of bins of a fixed width, so this bounds how unevenly a burst can fill one.
_BINS = 1_000


def chunks(timeline: "Timeline", *tables: str) -> Iterator["Timeline"]:
    # Windows that follow each other and make up the timeline, each with these tables. One that fits
    # as it is comes back itself; each further one is a pass over the capture.
    segments = sum(timeline.columns("sums")["episodes"])
    if segments <= _MOST_SEGMENTS or not timeline.duration_ns:
        yield timeline.load(*tables)
        return
    capture, summary = timeline.capture, timeline.summary
    origin = capture.start_ns
    for start_ns, end_ns in _windows(timeline):
        # The last window is the timeline's own end, and holds what happens then.
        end = (end_ns - origin) / 1e9 if end_ns < int(summary["end_ns"]) else timeline.end
        start = (start_ns - origin) / 1e9 if start_ns > int(summary["start_ns"]) else timeline.start
        yield capture.timeline(start, end, timeline.cpus).load(*tables)


def _windows(timeline: "Timeline") -> Iterator[tuple[int, int]]:
    import numpy as np

    start_ns, end_ns = int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"])
    width = max((end_ns - start_ns) // _BINS, 1)
    counts = timeline.sums(width).groupby("bin_ns")["episodes"].sum()
    starts, numbers = counts.index.to_numpy("int64"), counts.to_numpy("int64")
    piece = np.cumsum(numbers) // _MOST_SEGMENTS
    first = starts[np.flatnonzero(np.diff(piece)) + 1]
    edges = [start_ns, *(int(at) for at in first if start_ns < at < end_ns), end_ns]
    yield from pairwise(edges)
