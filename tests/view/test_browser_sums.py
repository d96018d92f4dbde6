# What a browser shows is the ledger: in numbers at every zoom, and in the pixels that it draws.

from collections import Counter
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.view.owners import KEYS, Owners
from netcost_analysis.view.tiles import Tiles
from support.browser import Shown, served
from support.host import SAMPLES
from support.native_tables import rows
from support.subjects import ALL

# A browser's own processes decide how long it takes.
pytestmark = pytest.mark.live


# By CPU and owner's number, of a window, from the segments one by one.
def ledger(timeline: netcost.Timeline, begin: int, end: int) -> Counter[tuple[int, int]]:
    origin = int(timeline.summary["start_ns"])
    of_rows = Owners(timeline.columns("sums")).of_rows
    keys = [tuple(row[name] for name in KEYS) for row in rows(timeline.table("sums"))]
    owners = dict(zip(keys, (owner for owner, _ in of_rows), strict=True))
    total: Counter[tuple[int, int]] = Counter()
    for row in rows(timeline.table("segments")):
        start, stop = (row[name] - origin for name in ("start_ns", "end_ns"))
        if start < end and stop > begin:
            owner = owners[tuple(row[name] for name in KEYS)]
            total[row["cpu"], owner] += min(stop, end) - max(start, begin)
    return total


def seen(told: dict[str, Any], shares: dict[str, Any]) -> Counter[tuple[Any, ...]]:
    return Counter({(row["cpu"], row["number"]): row["ns"] for row in shares["rows"]})


def test_table_is_the_ledger_at_every_level(
    shown: Shown, timeline: netcost.Timeline, tiles: Tiles
) -> None:
    told = tiles.header()
    # Where much happens: at the longest of the busiest owner's neighbours.
    middle = told["duration_ns"] * 0.37
    levels = set()
    for halvings in range(told["max_level"] + 4):
        span = told["duration_ns"] / 2**halvings
        shown.show(middle - span / 2, middle + span / 2)
        shares = shown.shares()
        begin, end = shares["begin"], shares["end"]
        levels.add(shares["level"])
        assert begin <= shown.view[0]
        assert end >= shown.view[1] or end == told["duration_ns"]
        assert seen(told, shares) == ledger(timeline, begin, end)
        per_cpu = Counter[int]()
        for row in shares["rows"]:
            per_cpu[row["cpu"]] += row["ns"]
        assert per_cpu == dict.fromkeys(told["cpus"], end - begin)
    # A level for each zoom, down to single nanoseconds.
    assert min(levels) == 0
    assert len(levels) > told["max_level"] / 2


# With losses, unknown time, other clocks, more CPUs: every other one from sums alone.
@pytest.mark.parametrize(("number", "name"), list(enumerate(ALL[::3])), ids=ALL[::3])
def test_samples_open(driver: Any, number: int, name: str) -> None:
    most_segments = (2**24, 0)[number % 2]
    capture = netcost.open_capture(SAMPLES / name)
    tiles = Tiles.of_capture(capture, most_segments=most_segments)
    told = tiles.header()
    whole = told["duration_ns"]
    with served(tiles) as address:
        shown = Shown(driver, address)
        for begin, end in ((0, whole), (whole * 0.2, whole * 0.3), (whole / 2, whole / 2 + 5000)):
            shares = shown.show(begin, end).shares()
            found = (shares["begin"], shares["end"])
            assert seen(told, shares) == ledger(tiles.timeline, *found), (begin, end)
        assert shown.complaints() == []


# Pixels with several owners are their mixture: a lane's mean colour is its owners' by their time.
_MEAN = """
const lane = view.laneOf(arguments[0]);
view.painter.label = () => {};
view.marks = view.marks.map(() => []);
view.draw();
const {painter, columns, lanesTop} = view;
const sums = Array(3).fill(0);
for (let y = lane.top - lanesTop; y < lane.top - lanesTop + lane.height; y++)
  for (let x = 0; x < columns; x++)
    for (let c = 0; c < 3; c++) sums[c] += painter.image.data[4 * (y * columns + x) + c];
return sums.map((sum) => sum / columns / lane.height);
"""


def test_pixels_are_shares_and_no_longest_segment(
    shown: Shown, timeline: netcost.Timeline, tiles: Tiles
) -> None:
    told = tiles.header()
    whole = told["duration_ns"]
    for mode, span in (("kind", whole), ("part", whole), ("kind", whole / 50), ("kind", 40_000)):
        shown.run("desk.setMode(arguments[0]);", mode)
        shown.show(whole * 0.4, whole * 0.4 + span)
        begin, end = shown.view
        total = ledger(timeline, round(begin), round(end))
        colours = told["colours"][mode]
        for place, cpu in enumerate(told["cpus"]):
            wanted = [0.0] * 3
            known = 0
            for (of, owner), ns in total.items():
                key = told["owners"][owner][mode]
                if of == cpu and key != "unknown":
                    known += ns
                    for channel in range(3):
                        at = 1 + 2 * channel
                        wanted[channel] += ns * int(colours[key][at : at + 2], 16) / (end - begin)
            if known < round(end) - round(begin):
                # The hatch of what is unknown has more than one colour.
                continue
            found = shown.run(_MEAN, place)
            assert all(abs(a - b) < 2.5 for a, b in zip(found, wanted, strict=True)), (
                *(mode, span, cpu, found, wanted),
            )


def test_strips_are_packets_and_stolen_time(
    shown: Shown, timeline: netcost.Timeline, tiles: Tiles
) -> None:
    told = tiles.header()
    packets, stolen = shown.run(
        """const sum = (name) => {
          let total = 0;
          const pieces = view.store.pieces(view.level, 0, view.whole);
          for (const {tile} of pieces)
            for (const lane of tile.lanes) for (const one of lane[name]) total += one;
          return total;
        };
        return [sum("packets"), sum("stolen")];"""
    )
    assert packets == timeline.polls["work"].clip(lower=0).sum()
    network = [one["part"] == "stolen_network" for one in told["owners"]]
    total = ledger(timeline, 0, told["duration_ns"])
    assert stolen == sum(ns for (_, owner), ns in total.items() if network[owner])
    assert stolen > 0


def test_the_last_bin_of_the_strips_is_as_long_as_it_is(
    shown: Shown, timeline: netcost.Timeline, tiles: Tiles
) -> None:
    whole = tiles.header()["duration_ns"]
    shown.show(0, whole)
    packets, stolen, lengths, width = shown.run(
        """const {packets, stolen, lengths, width} = view.bins;
        return [[...packets], [...stolen], [...lengths], width];"""
    )
    assert sum(lengths) == whole
    assert lengths[:-1] == [width] * (len(lengths) - 1)
    assert sum(packets) == timeline.polls["work"].clip(lower=0).sum()
    most = max(some / ns for some, ns in zip(packets[:-1], lengths[:-1], strict=True))
    told = shown.run("return view.stripsSaid;")
    assert f"up to {most * 1e9 / 1e3:.0f} k" in told[0]
    share = max(some / ns for some, ns in zip(stolen[:-1], lengths[:-1], strict=True))
    assert f"up to {share / len(timeline.summary['cpus']):.1%}".replace("%", " %") in told[1]


def test_coarser_tiles_stand_in_until_finer_ones_are_there(
    shown: Shown, timeline: netcost.Timeline, tiles: Tiles
) -> None:
    whole = tiles.header()["duration_ns"]
    drawn = shown.run(
        """view.store.load = () => new Promise(() => {});
        const { kept, maxLevel } = view.store;
        for (const key of [...kept.keys()]) if (key !== `${maxLevel}/0`) kept.delete(key);
        view.show(arguments[0], arguments[1]);
        view.draw();
        const pieces = view.store.pieces(view.level, view.view.begin, view.view.end);
        const levels = pieces.map((piece) => piece.tile.level);
        const [first, last] = [pieces[0], pieces.at(-1)];
        const { begin, end } = view.view;
        return [view.level, levels, first.begin <= begin, last.end >= end];""",
        *(whole * 0.5, whole * 0.5 + 5_000),
    )
    level, levels, opens, closes = drawn
    assert levels
    assert min(levels) > level
    assert opens
    assert closes
    # The table is of whole buckets all the same, however coarse they are.
    shares = shown.shares()
    assert shares["level"] == tiles.header()["max_level"]
    assert seen(tiles.header(), shares) == ledger(timeline, shares["begin"], shares["end"])


def test_tiles_are_kept_within_a_limit(shown: Shown, tiles: Tiles) -> None:
    whole = tiles.header()["duration_ns"]
    most = shown.run(
        """view.store.mostBytes = 12 * view.store.get(view.header.max_level, 0).bytes;
        return view.store.mostBytes;"""
    )
    for step in range(30):
        begin = whole * step / 31
        shown.show(begin, begin + 3_000_000)
        assert shown.run("return view.store.bytes;") <= most
    kept = sum(shown.run("return [...view.store.kept.values()].map((one) => one.bytes);"))
    assert kept == shown.run("return view.store.bytes;")
    # The coarsest stays: all else stands on it.
    assert shown.run("return Boolean(view.store.get(view.header.max_level, 0));")
