# The sums that native keeps, of drawn segments: no more of them than was allowed, and the same
# however the rows come.

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from netcost_analysis._native import CaptureError, TileOwners, TileSegments, TileSums
from netcost_analysis.view.owners import BUCKETS, max_level
from support.reference_tiles import OfCpu, read_tile

OWNERS = 40
ORIGIN = 1_700_000_000_123_456_789
TEXTS = ("context", "comm", "name", "device", "cost_class", "is_network")


def owner_columns(numbers: Any) -> dict[str, Any]:
    names = pa.array([f"owner {number}" for number in numbers])
    nothing = pa.nulls(len(numbers), pa.string())
    return {name: names if name == "name" else nothing for name in TEXTS} | {
        "tid": pa.array([int(number) % 7 for number in numbers], pa.int32()),
        "id": pa.nulls(len(numbers), pa.int32()),
    }


def owners() -> TileOwners:
    every = range(OWNERS)
    sums = pa.table(owner_columns(every))
    return TileOwners(sums, [(one, one % 7) for one in every], [one % 3 == 0 for one in every])


def segments(cpu: int, edges: Any, numbers: Any) -> pa.Table:
    count = len(numbers)
    return pa.table(
        {
            "cpu": pa.array(np.full(count, cpu, "int32")),
            "start_ns": pa.array(ORIGIN + edges[:-1]),
            "end_ns": pa.array(ORIGIN + edges[1:]),
            **owner_columns(numbers),
        }
    )


def polls(cpu: int, ends: Any, works: Any) -> pa.Table:
    return pa.table(
        {
            "cpu": pa.array(np.full(len(ends), cpu, "int32")),
            "end_ns": pa.array(ORIGIN + np.asarray(ends, "int64")),
            "work": pa.array(works, pa.int32()),
        }
    )


class Drawn:
    # Two CPUs: one busy in bursts, one that does nothing for most of the time.
    def __init__(self, seed: int, count: int, duration: int) -> None:
        random = np.random.default_rng(seed)
        self.duration = duration
        self.tables: list[tuple[pa.Table, pa.Table]] = []
        self.lanes: list[OfCpu] = []
        for cpu, rows in ((0, count), (3, max(count // 100, 1))):
            burst = duration // 10
            inside = np.where(random.random(rows - 1) < 0.7, burst, duration)
            cuts = np.unique(1 + (random.random(rows - 1) * (inside - 1)).astype("int64"))
            edges = np.concatenate([[0], cuts[cuts < duration], [duration]])
            numbers = random.integers(0, OWNERS, len(edges) - 1)
            ends = np.sort(random.integers(0, duration + 1, rows))
            works = [None if one % 11 == 0 else int(one % 64) for one in range(rows)]
            owners = [(number, number % 7) for number in numbers.tolist()]
            spans = [
                (*span, *of) for span, of in zip(pairwise(edges.tolist()), owners, strict=True)
            ]
            worked = list(zip(ends.tolist(), works, strict=True))
            stolen = {number for number in range(OWNERS) if number % 3 == 0}
            self.lanes.append(OfCpu(spans, worked, duration, stolen))
            self.tables.append((segments(cpu, edges, numbers), polls(cpu, ends, works)))

    def sums(self, most: int, rows: int) -> TileSums:
        made = TileSums(owners(), [0, 3], ORIGIN, self.duration, most)
        self.feed(made, rows)
        return made

    def segments(self) -> TileSegments:
        made = TileSegments(owners(), [(0, 0), (3, 0)], ORIGIN, 0, self.duration)
        self.feed(made, 10**9)
        return made

    def feed(self, made: Any, rows: int) -> None:
        nothing = (self.tables[0][0][:0], self.tables[0][1][:0])
        for of_cpu in self.tables:
            for kind in (0, 1):
                for at in range(0, len(of_cpu[kind]), rows):
                    part = [*nothing]
                    part[kind] = of_cpu[kind][at : at + rows]
                    made.add(*part)
        made.finish()


@pytest.mark.parametrize("most", [1, 1_000, 20_000, 2**21])
def test_no_more_are_kept_than_was_allowed(most: int) -> None:
    drawn = Drawn(1, 60_000, 3_000_000_000)
    sums = drawn.sums(most, 5_000)
    assert sums.entries <= 2 * most or sums.base == max_level(drawn.duration)
    if sums.base:
        # One level finer there would have been too many.
        finer = {
            (cpu, start >> sums.base - 1, owner)
            for cpu, lane in enumerate(drawn.lanes)
            for start, _, owner, _ in lane.segments
        }
        buckets = 2 * -(-drawn.duration // (1 << sums.base - 1))
        assert len(finer) + buckets > most / 2


@pytest.mark.parametrize("most", [1_000, 20_000])
def test_how_rows_come_does_not_matter(most: int) -> None:
    drawn = Drawn(2, 30_000, 999_999_937)
    one, other = drawn.sums(most, 10**9), drawn.sums(most, 777)
    assert (one.base, one.entries) == (other.base, other.entries)
    for level in range(one.base, max_level(drawn.duration) + 1):
        for index in range(min(-(-drawn.duration // (BUCKETS << level)), 20)):
            assert one.tile(level, index) == other.tile(level, index)


def test_every_tile_is_what_the_segments_say() -> None:
    drawn = Drawn(3, 30_000, 1_000_000_007)
    kept, sums = drawn.segments(), drawn.sums(20_000, 10_000)
    forms = set()
    for level in range(max_level(drawn.duration) + 1):
        count = -(-drawn.duration // (BUCKETS << level))
        for index in {0, count // 20, count // 2, count - 1}:
            for with_segments in (True, False):
                if level < sums.base and not with_segments:
                    with pytest.raises(CaptureError, match="finer than"):
                        sums.tile(level, index)
                    continue
                tile = read_tile(sums.tile(level, index, kept if with_segments else None))
                for lane, of_cpu in zip(tile, drawn.lanes, strict=True):
                    forms.add((lane.form, level < sums.base))
                    expected = of_cpu.lane(level, index)
                    assert +lane.shares(level, index) == expected.shares(level, index)
                    assert (lane.packets, lane.stolen) == (expected.packets, expected.stolen)
    # Few segments, sums, and sums of segments.
    assert forms == {(1, True), (1, False), (0, True), (0, False)}


def test_rows_that_are_no_timelines() -> None:
    drawn = Drawn(4, 100, 1_000_000)
    (table, _), (_, none) = drawn.tables[0], (None, drawn.tables[0][1][:0])

    def add(rows: pa.Table, duration: int = 1_000_000) -> None:
        TileSums(owners(), [0], ORIGIN, duration, 1_000).add(rows, none)
        TileSegments(owners(), [(0, 0)], ORIGIN, 0, duration).add(rows, none)

    add(table)
    with pytest.raises(CaptureError, match="follow each other"):
        add(table[1:])
    with pytest.raises(CaptureError, match="999999 ns"):
        add(table, 999_999)
    with pytest.raises(CaptureError, match="CPU 3"):
        add(drawn.tables[1][0])
    with pytest.raises(CaptureError, match="column 'tid'"):
        add(table.drop_columns("tid"))
    place = table.column_names.index("name")
    strange = table.set_column(place, "name", pa.array(["somebody"] * len(table)))
    with pytest.raises(CaptureError, match="an owner that"):
        add(strange)
