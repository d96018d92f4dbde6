# What was at a place, and where it leads: as the tables have it.

import json
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.errors import ArgumentError
from netcost_analysis.view.places import detail, follow
from netcost_analysis.view.tiles import Tiles
from support.kept import kept
from support.large import summed_only
from support.native_tables import rows
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.told import KSOFTIRQD, NET_RX, OPENSSL, UDPSINK

NIC = "nic-stolen-time"
S = 1_000_000_000


# CPU 0   openssl |irq 32 raise|NET_RX  poll       |openssl   |irq|NET_RX|openssl
# CPU 1   udpsink         ...  openssl is moved here at 9000
def drawn(path: Path) -> netcost.Capture:
    told = recording(
        cpu(
            0,
            h.Switch(S, OPENSSL),
            h.IrqEntry(S + 1000, 32, "virtio2-input.0"),
            h.SoftirqRaise(S + 1100, NET_RX),
            h.IrqExit(S + 1200, 32),
            h.SoftirqEntry(S + 1300, NET_RX),
            h.NapiPoll(S + 3000, "eth0", 8),
            h.SoftirqExit(S + 3100, NET_RX),
            h.IrqEntry(S + 5000, 33, "virtio2-input.1"),
            h.SoftirqRaise(S + 5100, NET_RX),
            h.IrqExit(S + 5200, 33),
            h.SoftirqEntry(S + 5300, NET_RX),
            h.NapiPoll(S + 6000, "eth0", 2),
            h.SoftirqExit(S + 6100, NET_RX),
            h.Switch(S + 8000, KSOFTIRQD, 256),
            h.Switch(S + 20_000, h.idle(0), 1),
            task=OPENSSL,
        ),
        cpu(
            1,
            h.Switch(S, UDPSINK),
            h.MigrateTask(S + 9000, OPENSSL, 0, 1),
            h.Switch(S + 10_000, OPENSSL, 256),
            h.Switch(S + 20_000, h.idle(1), 1),
            task=h.idle(1),
        ),
        known=(OPENSSL, UDPSINK, KSOFTIRQD),
    )
    return netcost.open_capture(told.write(path / "perf.data"))


def both(capture: netcost.Capture) -> tuple[Tiles, Tiles]:
    return Tiles.of(capture.timeline()), summed_only(capture.timeline(), 20, 2)


def at(cpu_number: int, begin: int, end: int) -> dict[str, Any]:
    return {"cpu": cpu_number, "begin_ns": begin, "end_ns": end}


def test_a_poll_leads_to_what_raised_it_and_on(tmp_path: Path) -> None:
    for tiles in both(drawn(tmp_path)):
        found = detail(tiles, 0, 2000)
        assert json.loads(json.dumps(found)) == found
        segment, softirq = found["segment"], found["softirq"]
        owner = tiles.header()["owners"][segment["owner"]]
        assert (owner["label"], owner["kind"], owner["device"]) == ("eth0 poll", "poll", "eth0")
        assert (segment["begin_ns"], segment["end_ns"]) == (1300, 3000)
        assert tiles.header()["tasks"][segment["task"]] == {"tid": OPENSSL.tid, "comm": "openssl"}
        assert segment["napi"].startswith("0xff")
        assert (softirq["begin_ns"], softirq["end_ns"]) == (1300, 3100)
        assert (softirq["raise_ns"], softirq["packets"], softirq["action"]) == (1100, 8, "NET_RX")
        poll, interrupt = (tuple(found[name].values()) for name in ("poll", "interrupt"))
        assert poll == (1300, 3000, "eth0", 8, 64)
        assert interrupt == (1000, 1200, 32, "virtio2-input.0")
        assert (found["slice"]["begin_ns"], found["slice"]["end_ns"]) == (0, 8000)
        assert found["links"] == ["interrupt", "raiser", "episode", "migration"]
        assert follow(tiles, 0, 2000, "interrupt") == at(0, 1000, 1200)
        assert follow(tiles, 0, 2000, "raiser") == at(0, 1000, 1200)
        assert follow(tiles, 0, 2000, "episode") == at(0, 5000, 6100)
        assert follow(tiles, 0, 2000, "migration") == at(1, 10_000, 20_000)


def test_an_episode_is_followed_by_the_next(tmp_path: Path) -> None:
    for tiles in both(drawn(tmp_path)):
        # The task itself has a moment between the interrupt and the softirq.
        assert follow(tiles, 0, 500, "episode") == at(0, 1000, 3100)
        for inside in (1000, 1100, 1250, 3099):
            assert follow(tiles, 0, inside, "episode") == at(0, 5000, 6100)
        assert follow(tiles, 0, 5500, "episode") is None
        # Of another task, and of none.
        assert follow(tiles, 1, 5000, "episode") is None
        assert follow(tiles, 1, 20_000, "episode") is None


def test_what_leads_nowhere(tmp_path: Path) -> None:
    for tiles in both(drawn(tmp_path)):
        found = detail(tiles, 1, 5000)
        assert found["softirq"] is found["poll"] is found["interrupt"] is None
        assert found["links"] == ["episode"]
        outside = detail(tiles, 0, tiles.duration_ns)
        assert outside["segment"] is None
        assert outside["links"] == []
        assert detail(tiles, 9, 5)["segment"] is None
        with pytest.raises(ArgumentError, match=r"'home'; .* interrupt"):
            follow(tiles, 0, 0, "home")


# Every so many softirqs of a real recording.
def test_places_of_a_sample() -> None:
    timeline = kept(NIC).timeline()
    tiles = Tiles.of(timeline)
    origin = int(tiles.header()["begin_ns"])
    parts = [one["part"] for one in tiles.header()["owners"]]
    moved_at = rows(timeline.table("migrations"))
    moments = {(row["time_ns"], row["tid"], row["dest_cpu"]) for row in moved_at}
    led = dict.fromkeys(tiles.header()["links"], 0)
    for row in rows(timeline.table("softirqs"))[::211]:
        if row["entry_ns"] is None or row["exit_ns"] is None:
            continue
        number, place = row["cpu"], row["entry_ns"] - origin
        found = detail(tiles, number, place)
        assert found["softirq"]["begin_ns"] == place
        assert found["segment"]["begin_ns"] <= place < found["segment"]["end_ns"]
        for link in led:
            there = follow(tiles, number, place, link)
            assert (link in found["links"]) >= (there is not None)
            if there is None:
                continue
            led[link] += 1
            assert 0 <= there["begin_ns"] < there["end_ns"] <= tiles.duration_ns
            if link in ("interrupt", "raiser"):
                raised = row["raise_ns"] - origin
                assert there["cpu"] == number
                assert there["begin_ns"] <= raised < there["end_ns"]
            elif link == "episode":
                _, begin, _, owner, task = tiles.segment_at(there["cpu"], there["begin_ns"])
                assert begin == there["begin_ns"] > place
                assert parts[owner].startswith("stolen")
                assert task == found["segment"]["task"]
            elif there["end_ns"] == there["begin_ns"] + 1:
                # It was moved on before it ran there: the moment itself.
                task = tiles.header()["tasks"][found["segment"]["task"]]
                moment = (there["begin_ns"] + origin, task["tid"], there["cpu"])
                assert moment in moments
            else:
                moved = detail(tiles, there["cpu"], there["begin_ns"])
                assert moved["slice"]["begin_ns"] == there["begin_ns"]
                # Under another name, if it executed another program meanwhile.
                tasks = (tiles.header()["tasks"][one["segment"]["task"]] for one in (moved, found))
                assert len({task["tid"] for task in tasks}) == 1
    assert all(led.values()), led


@pytest.mark.parametrize("made", [Tiles.of, summed_only])
def test_episodes_are_those_of_the_question(made: Any) -> None:
    timeline = kept(NIC).timeline(3.8, 3.82)
    frame = timeline.ask.stolen_time.episodes(victim="openssl", most=10_000).frame
    tiles = made(timeline)
    origin = tiles.origin_ns
    columns = (frame[name].to_numpy() for name in ("cpu", "start_ns", "end_ns"))
    expected = sorted(
        (number, a - origin, b - origin) for number, a, b in zip(*columns, strict=True)
    )
    task = next(n for n, one in enumerate(tiles.header()["tasks"]) if one["comm"] == "openssl")
    stolen = [one["part"].startswith("stolen") for one in tiles.header()["owners"]]
    first = tiles.next(stolen, -1, None, task)
    assert first is not None
    number, begin, *_ = first
    found = []
    while (there := follow(tiles, number, begin, "episode")) is not None:
        number, begin = there["cpu"], there["begin_ns"]
        found.append((number, begin, there["end_ns"]))
    assert len(expected) > 10
    assert sorted(found) == [one for one in expected if one[1] > first[1]]
