# Tiles are what the segments say, whatever they are computed from: the reference in plain Python,
# and the ledger's sums.

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcost_analysis as netcost
from netcost_analysis.errors import ArgumentError
from netcost_analysis.view.owners import BUCKETS, max_level
from netcost_analysis.view.tiles import Tiles
from support import reference_tiles
from support.host import Fresh, examples
from support.kept import kept
from support.large import summed_only
from support.narrator import Narrator, recordings
from support.perfdata import Recording, cpu, recording
from support.perfdata import happenings as h
from support.reference_tiles import Lane, read_tile
from support.texts import HOSTILE
from support.told import NET_RX, OPENSSL

NIC, TOP = "nic-stolen-time", "stolen-time-top.netcost.tar.zst"
S = 1_000_000_000


def some_tiles(tiles: Tiles) -> list[tuple[int, int]]:
    last, duration = tiles.header()["max_level"], tiles.duration_ns
    found = []
    for level in range(last + 1):
        count = -(-duration // (BUCKETS << level))
        found += [(level, index) for index in {0, count // 3, count - 1, count}]
    return found


def same_shares(one: list[Lane], other: list[Lane], level: int, index: int) -> bool:
    return all(
        a.shares(level, index) == b.shares(level, index)
        and (a.packets, a.stolen) == (b.packets, b.stolen)
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("name", [NIC, TOP])
def test_tiles_are_the_references(name: str) -> None:
    timeline = kept(name).timeline()
    tiles = Tiles.of(timeline)
    forms = set()
    for level, index in some_tiles(tiles):
        expected = reference_tiles.tile(timeline, level, index)
        assert read_tile(tiles.tile(level, index)) == expected, (level, index)
        forms |= {lane.form for lane in expected}
    assert forms == {0, 1}


def test_so_are_those_of_a_window_and_a_cpu() -> None:
    timeline = kept(NIC).timeline(3.5, 3.7, [1])
    tiles, sums = Tiles.of(timeline), summed_only(timeline)
    assert tiles.header()["cpus"] == [1]
    assert tiles.header() == sums.header()
    for level, index in some_tiles(tiles)[::3]:
        expected = reference_tiles.tile(timeline, level, index)
        assert read_tile(tiles.tile(level, index)) == expected
        assert same_shares(read_tile(sums.tile(level, index)), expected, level, index)


# What is larger than memory.
def test_sums_alone_say_the_same() -> None:
    timeline = kept(NIC).timeline()
    tiles, sums = Tiles.of(timeline), summed_only(timeline)
    assert not sums.holds_segments
    assert sums.header() == tiles.header()
    fine = coarse = 0
    for level, index in some_tiles(tiles):
        one, other = tiles.tile(level, index), sums.tile(level, index)
        assert same_shares(read_tile(one), read_tile(other), level, index), (level, index)
        if level < sums.base_level:
            assert one == other
            fine += 1
        else:
            coarse += 1
    assert fine
    assert coarse


# Of every level: native/tests/tiles.rs.
@pytest.mark.parametrize("made", [Tiles.of, summed_only])
def test_all_adds_up_to_the_ledger(made: Any) -> None:
    timeline = kept(NIC).timeline()
    tiles = made(timeline)
    lanes = read_tile(tiles.tile(tiles.header()["max_level"], 0))
    assert sum(sum(lane.packets) for lane in lanes) == timeline.polls["work"].sum()
    stolen = timeline.ask.stolen_time.stolen().frame["stolen_network_ns"].sum()
    assert sum(sum(lane.stolen) for lane in lanes) == stolen


@examples(30)
@given(recordings(), st.data())
def test_whatever_happens(fresh: Fresh, told: Any, data: st.DataObject) -> None:
    timeline = netcost.open_capture(told.write(fresh() / "perf.data")).timeline()
    try:
        tiles = Tiles.of(timeline)
    except netcost.CaptureError:
        return
    sums = summed_only(timeline)
    last = tiles.header()["max_level"]
    level = data.draw(st.integers(0, last))
    index = data.draw(st.integers(0, tiles.duration_ns // (BUCKETS << level)))
    expected = reference_tiles.tile(timeline, level, index)
    assert read_tile(tiles.tile(level, index)) == expected
    assert same_shares(read_tile(sums.tile(level, index)), expected, level, index)
    for number in tiles.header()["cpus"]:
        at = data.draw(st.integers(-1, tiles.duration_ns))
        assert tiles.segment_at(number, at) == sums.segment_at(number, at)
        for text in ("eth", "openssl", "idle", "net"):
            found = tiles.find(text, at, number)
            assert found == sums.find(text, at, number)
            assert found == _found(tiles, text, at, number)


# A part may end with a nanosecond of whom was looked for, that began before.
def test_a_search_ends_where_a_part_does(tmp_path: Path) -> None:
    tape = (
        "00000000000000000000000000000001000000000000073a000307000000060000030000000000590000"
        "010102000307070000000000000000000000000204030400000000060000003fc2000000000000000000"
        "00000100000607000000000000000001"
    )
    narrator = Narrator(0, bytes.fromhex(tape), False)
    told = Recording((narrator.tell(),), known=tuple(narrator.tasks[1:]))
    path = told.write(tmp_path / "perf.data")
    timeline = netcost.open_capture(path).timeline()
    tiles, sums = Tiles.of(timeline), summed_only(timeline)
    sums.tile(0, 0)
    assert sums.segment_at(0, 256) == tiles.segment_at(0, 256)
    for text in ("eth", "openssl", "idle", "net"):
        assert sums.find(text, 256, 0) == _found(tiles, text, 256, 0)


# The same, segment by segment.
def _found(tiles: Tiles, text: str, after: int, number: int) -> dict[str, Any] | None:
    at = 0
    while at < tiles.duration_ns:
        segment = tiles.segment_at(number, at)
        assert segment is not None
        _, begin, end, owner, _ = segment
        if begin > after and text in tiles.header()["owners"][owner]["label"].casefold():
            return {"cpu": number, "begin_ns": begin, "end_ns": end, "owner": owner}
        at = end
    return None


def test_names_are_told_as_they_are(tmp_path: Path) -> None:
    tasks = [h.Task(700 + at, name[:15]) for at, name in enumerate(HOSTILE)]
    switches = [h.Switch(S + 100 * at, task) for at, task in enumerate(tasks)]
    path = recording(cpu(0, *switches, task=OPENSSL)).write(tmp_path / "perf.data")
    timeline = netcost.open_capture(path).timeline()
    tiles = Tiles.of(timeline)
    header = json.loads(json.dumps(tiles.header(), allow_nan=False))
    assert header == tiles.header()
    called = {one["comm"] for one in header["tasks"]}
    assert called >= {name[:15] for name in HOSTILE[:-1]}
    for level in range(header["max_level"] + 1):
        assert read_tile(tiles.tile(level, 0)) == reference_tiles.tile(timeline, level, 0)


# Long after the host's start, and longer than a double's fraction of a second: not a ns is lost.
def test_times_are_exact_to_the_ns(tmp_path: Path) -> None:
    late = 1_700_000_000 * S
    told = cpu(
        0,
        h.SoftirqRaise(late + 1, NET_RX),
        h.SoftirqEntry(late + 3, NET_RX),
        h.NapiPoll(late + 7, "eth0", 8),
        h.SoftirqExit(late + 11, NET_RX),
        h.SoftirqRaise(late + 90_000 * S + 11, NET_RX),
        h.SoftirqEntry(late + 90_000 * S + 13, NET_RX),
        h.SoftirqExit(late + 90_000 * S + 17, NET_RX),
        h.Switch(late + 90_001 * S, OPENSSL),
        task=OPENSSL,
    )
    path = recording(told).write(tmp_path / "perf.data")
    tiles = Tiles.of(netcost.open_capture(path).timeline())
    origin = int(tiles.header()["begin_ns"])
    assert origin == late + 1
    found = tiles.find("rps dispatch", 20)
    assert found is not None
    assert origin + found["begin_ns"] == late + 90_000 * S + 13
    assert found["end_ns"] - found["begin_ns"] == 4
    index = found["begin_ns"] // BUCKETS
    [one] = read_tile(tiles.tile(0, index))
    assert (float(found["begin_ns"]), float(found["end_ns"])) in [row[:2] for row in one.rows]


def test_the_last_level_covers_all() -> None:
    for duration, level in ((0, 0), (1, 0), (512, 0), (513, 1), (1024, 1), (1025, 2), (2**40, 31)):
        assert max_level(duration) == level
        assert BUCKETS << level >= duration


def test_what_there_is_not() -> None:
    tiles = Tiles.of(kept(NIC).timeline())
    last = tiles.header()["max_level"]
    for level, index in ((-1, 0), (last + 1, 0), (0, -1)):
        with pytest.raises(ArgumentError, match=r"no (level|tile)"):
            tiles.tile(level, index)
    for index in (1 << 30, 1 << 60, 1 << 100):
        assert [(one.form, one.rows) for one in read_tile(tiles.tile(last, index))] == [(1, [])] * 2
    assert tiles.find("no such owner", -1) is None
    assert tiles.find("", -1) is None
    assert tiles.segment_at(7, 0) is None
