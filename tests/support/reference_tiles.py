# Tiles as docs/view.md describes them: their bytes, read, and what they must hold, computed from
# all segments and polls of a CPU.

import struct
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

import netcost_analysis as netcost
from netcost_analysis.view.owners import BUCKETS, KEYS, Owners
from support.native_tables import rows

MAGIC = 0x31544C4E
MOST_SEGMENTS = 4096
Segment = tuple[int, int, int, int]
Shares = Counter[tuple[int, int]]


@dataclass(frozen=True)
class Lane:
    # Of form 0 rows are (bucket, owner, ns); of form 1 segments: (begin, end, owner, task).
    form: int
    rows: list[tuple[Any, ...]]
    packets: list[int]
    stolen: list[float]

    # By bucket and owner, whichever form it has.
    def shares(self, level: int, index: int) -> Shares:
        if self.form == 1:
            return shares_of(self.rows, level, index)
        return Counter({(bucket, owner): int(ns) for bucket, owner, ns in self.rows})


def read_tile(data: bytes) -> list[Lane]:
    magic, count = struct.unpack_from("<II", data)
    assert magic == MAGIC
    forms = [struct.unpack_from("<II", data, 8 + 8 * cpu) for cpu in range(count)]
    place = 8 + 8 * count

    def array(kind: str, length: int) -> tuple[Any, ...]:
        nonlocal place
        values = struct.unpack_from(f"<{length}{kind}", data, place)
        place += -(-struct.calcsize(f"<{length}{kind}") // 8) * 8
        return values

    lanes = []
    for form, length in forms:
        columns = [array(kind, length) for kind in ("dIH", "ddII")[form]]
        found = list(zip(*(columns[::-1] if form == 0 else columns), strict=True))
        assert form == 1 or found == sorted(found)
        lanes.append(Lane(form, found, list(array("I", BUCKETS)), list(array("d", BUCKETS))))
    assert place == len(data)
    return lanes


def shares_of(segments: Any, level: int, index: int) -> Shares:
    begin, width = index * BUCKETS << level, 1 << level
    found: Shares = Counter()
    for start, end, owner, _ in segments:
        borders = range((int(start) - begin) // width + 1, -(-(int(end) - begin) // width))
        cuts = [int(start), *(begin + border * width for border in borders), int(end)]
        for one, other in pairwise(cuts):
            found[(one - begin) // width, owner] += other - one
    return found


class OfCpu:
    # segments follow each other. polls: end and work. stolen: numbers of owners.
    def __init__(
        self,
        segments: list[Segment],
        polls: list[tuple[int, int | None]],
        duration: int,
        stolen: set[int],
    ) -> None:
        self.segments, self.duration, self.stolen = segments, duration, stolen
        self._starts, self._ends = ([one[side] for one in segments] for side in (0, 1))
        inside = [(at, max(work or 0, 0)) for at, work in polls if 0 <= at <= duration]
        # What ends with the window belongs to its last ns.
        self._polled = np.array([min(at, duration - 1) for at, _ in inside], "int64")
        self._work = np.array([work for _, work in inside], "int64")

    def lane(self, level: int, index: int) -> Lane:
        begin, width = index * BUCKETS << level, 1 << level
        end = min(begin + BUCKETS * width, self.duration)
        part = slice(bisect_right(self._ends, begin), bisect_left(self._starts, end))
        inside = [
            (max(start, begin), min(stop, end), owner, task)
            for start, stop, owner, task in (self.segments[part] if begin < end else ())
        ]
        shares = shares_of(inside, level, index)
        stolen = [0.0] * BUCKETS
        for (bucket, owner), ns in shares.items():
            stolen[bucket] += ns if owner in self.stolen else 0
        polled = (self._polled >= begin) & (self._polled < end)
        buckets = (self._polled[polled] - begin) >> level
        counts = np.bincount(buckets, self._work[polled], BUCKETS)
        packets = [int(count) for count in counts]
        if len(inside) <= MOST_SEGMENTS:
            return Lane(1, inside, packets, stolen)
        return Lane(0, sorted((*key, ns) for key, ns in shares.items()), packets, stolen)


@lru_cache(maxsize=4)
def lanes_of(timeline: netcost.Timeline) -> list[OfCpu]:
    owners = Owners(timeline.columns("sums"))
    sums = [tuple(row[name] for name in KEYS) for row in rows(timeline.table("sums"))]
    numbers = dict(zip(sums, owners.of_rows, strict=True))
    stolen = {at for at, one in enumerate(owners.owners) if one.part == "stolen_network"}
    origin = int(timeline.summary["start_ns"])
    cpus: list[int] = list(timeline.summary["cpus"])
    segments: dict[int, list[Segment]] = {cpu: [] for cpu in cpus}
    polls: dict[int, list[Any]] = {cpu: [] for cpu in cpus}
    for row in rows(timeline.table("segments")):
        number = numbers[tuple(row[name] for name in KEYS)]
        span = (row["start_ns"] - origin, row["end_ns"] - origin)
        segments[row["cpu"]].append((*span, *number))
    for row in rows(timeline.table("polls")):
        polls[row["cpu"]].append((row["end_ns"] - origin, row["work"]))
    return [OfCpu(segments[cpu], polls[cpu], timeline.duration_ns, stolen) for cpu in cpus]


def tile(timeline: netcost.Timeline, level: int, index: int) -> list[Lane]:
    return [one.lane(level, index) for one in lanes_of(timeline)]
