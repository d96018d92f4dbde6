# Tiles as docs/view.md describes them, segment by segment in plain Python: slow and simple.

import struct
from bisect import bisect_left, bisect_right
from collections import defaultdict
from operator import itemgetter
from typing import Any

import netcost_analysis as netcost
from netcost_analysis.view.header import BUCKETS
from netcost_analysis.view.header import header as of_timeline
from netcost_analysis.view.owners import KEYS, Owners
from support.native_tables import rows

MAGIC = 0x31544C4E
MOST_SEGMENTS = 4096


def header(timeline: netcost.Timeline) -> dict[str, Any]:
    gaps = timeline.columns("coverage")
    return _kept(
        timeline, "header", lambda: of_timeline(timeline, Owners(timeline.columns("sums")), gaps)
    )


def tile(timeline: netcost.Timeline, level: int, index: int) -> bytes:
    told = header(timeline)
    numbers = _numbers(timeline)
    origin, duration = int(told["begin_ns"]), int(told["duration_ns"])
    width = 1 << level
    begin = index * BUCKETS * width
    end = min(begin + BUCKETS * width, duration)
    parts = [owner["part"] for owner in told["owners"]]
    forms: list[tuple[int, int]] = []
    arrays: list[bytes] = []
    for cpu in told["cpus"]:
        found = [
            (max(start, begin), min(stop, end), *numbers[key])
            for start, stop, key in _between(_segments(timeline, cpu, origin), begin, end)
        ]
        shares: dict[tuple[int, int], int] = defaultdict(int)
        stolen = [0] * BUCKETS
        for start, stop, owner, _ in found:
            for bucket in range((start - begin) // width, (stop - 1 - begin) // width + 1):
                edge = begin + bucket * width
                ns = min(stop, edge + width) - max(start, edge)
                shares[bucket, owner] += ns
                if parts[owner] == "stolen_network":
                    stolen[bucket] += ns
        if len(found) <= MOST_SEGMENTS:
            starts, ends, owners, tasks = zip(*found, strict=True) if found else ((), (), (), ())
            forms.append((1, len(found)))
            arrays += [_of("d", starts), _of("d", ends), _of("I", owners), _of("I", tasks)]
        else:
            keys = sorted(shares)
            forms.append((0, len(keys)))
            arrays += [
                _of("d", [shares[key] for key in keys]),
                _of("I", [owner for _, owner in keys]),
                _of("H", [bucket for bucket, _ in keys]),
            ]
        packets = [0] * BUCKETS
        for at, work in _polls(timeline, cpu, origin, duration):
            if begin <= at < end:
                packets[(at - begin) // width] += work
        arrays += [_of("I", packets), _of("d", stolen)]
    head = struct.pack("<II", MAGIC, len(forms)) + b"".join(struct.pack("<II", *f) for f in forms)
    return _padded(head) + b"".join(arrays)


_KEPT: dict[tuple[int, str], Any] = {}


def _kept(timeline: netcost.Timeline, what: str, make: Any) -> Any:
    # With the timeline, so that its number is no other's.
    key = (id(timeline), what)
    if key not in _KEPT:
        _KEPT[key] = (timeline, make())
    return _KEPT[key][1]


def _numbers(timeline: netcost.Timeline) -> dict[tuple[Any, ...], tuple[int, int]]:
    def make() -> dict[tuple[Any, ...], tuple[int, int]]:
        of_rows = Owners(timeline.columns("sums")).of_rows
        sums = [tuple(row[name] for name in KEYS) for row in rows(timeline.table("sums"))]
        return dict(zip(sums, of_rows, strict=True))

    found: dict[tuple[Any, ...], tuple[int, int]] = _kept(timeline, "numbers", make)
    return found


def _segments(timeline: netcost.Timeline, cpu: int, origin: int) -> Any:
    def make() -> dict[int, list[Any]]:
        by_cpu = defaultdict(list)
        for row in rows(timeline.table("segments")):
            key = tuple(row[name] for name in KEYS)
            by_cpu[row["cpu"]].append((row["start_ns"] - origin, row["end_ns"] - origin, key))
        return by_cpu

    return _kept(timeline, "segments", make).get(cpu, [])


def _between(segments: list[Any], begin: int, end: int) -> list[Any]:
    if begin >= end:
        return []
    first = bisect_right(segments, begin, key=itemgetter(1))
    return segments[first : bisect_left(segments, end, key=itemgetter(0))]


def _polls(timeline: netcost.Timeline, cpu: int, origin: int, duration: int) -> Any:
    # A poll's work counts where it ends; what ends with the window belongs to its last ns.
    def make() -> dict[int, list[Any]]:
        by_cpu = defaultdict(list)
        for row in rows(timeline.table("polls")):
            at = row["end_ns"] - origin
            if 0 <= at <= duration and row["work"] and row["work"] > 0:
                by_cpu[row["cpu"]].append((min(at, duration - 1), row["work"]))
        return by_cpu

    return _kept(timeline, "polls", make).get(cpu, [])


def _of(kind: str, values: Any) -> bytes:
    return _padded(struct.pack(f"<{len(values)}{kind}", *values))


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)
