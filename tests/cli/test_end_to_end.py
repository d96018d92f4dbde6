# One story through everything: described, written as perf.data, read by the package and by the
# command, with figures that can be added up on paper.

from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.asked import stolen
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.run_cli import Netcost
from support.told import IDLE, KSOFTIRQD, NET_RX, OPENSSL, TIMER, UDPSINK

# us      0    10   12        42   45   100  103  109    150       160      180         200
# CPU 0   |open|irq |poll 8   |RX  |open|timr|TIMR|open  |ksoftirqd|poll 64 |ksoftirqd  |openssl
#         |ssl |32  |on eth0  |core|ssl |    |    |      |         |on eth0 |           |
#
# 210        213        215          250
# |udpsink   |NET_RX of |udpsink     |idle ... 300: irq 32 on idle, 3 us
# |bh off    |its own   |            |
STORY = cpu(
    0,
    h.Waking(0, UDPSINK, 1),
    h.IrqEntry(10_000, 32, "eth0"),
    h.SoftirqRaise(11_000, NET_RX),
    h.IrqExit(12_000, 32),
    h.SoftirqEntry(12_000, NET_RX),
    h.NapiPoll(42_000, "eth0", 8),
    h.SoftirqExit(45_000, NET_RX),
    h.VectorEntry(100_000),
    h.SoftirqRaise(101_000, TIMER),
    h.VectorExit(103_000),
    h.SoftirqEntry(103_000, TIMER),
    h.SoftirqRaise(104_000, NET_RX),
    h.SoftirqExit(109_000, TIMER),
    h.Waking(149_000, KSOFTIRQD),
    h.Wakeup(149_000, KSOFTIRQD),
    h.Switch(150_000, KSOFTIRQD, 0),
    h.SoftirqEntry(160_000, NET_RX),
    h.NapiPoll(180_000, "eth0", 64),
    h.SoftirqExit(180_000, NET_RX),
    h.Switch(200_000, OPENSSL, 1),
    h.Switch(210_000, UDPSINK, 0),
    h.BhDisable(211_000),
    h.SoftirqRaise(212_000, NET_RX),
    h.BhEnable(213_000),
    h.SoftirqEntry(213_000, NET_RX),
    h.NapiPoll(215_000, "(no_device)", 1, 64, 7),
    h.SoftirqExit(215_000, NET_RX),
    h.Switch(250_000, IDLE, 1),
    h.IrqEntry(300_000, 32, "eth0"),
    h.IrqExit(303_000, 32),
    task=OPENSSL,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tasks = (OPENSSL, UDPSINK, KSOFTIRQD)
    return recording(STORY, known=tasks).write(tmp_path_factory.mktemp("story") / "perf.data")


ROBBED = {
    "on_cpu_ns": 160_000,
    "task_ns": 116_000,
    "stolen_ns": 44_000,
    "stolen_max_ns": 44_000,
    "stolen_hardirq_ns": 2_000,
    "stolen_vector_ns": 3_000,
    # The TIMER softirq raised NET_RX.
    "stolen_network_ns": 41_000,
    "synchronous_ns": 0,
    "unknown_ns": 0,
}
BY_SOFTIRQ = {"NET_RX": 33_000, "TIMER": 6_000}


def test_the_package_adds_up_the_story(path: Path) -> None:
    timeline = open_capture(path).timeline()
    lost = stolen(timeline)
    table, by_softirq = lost.victims, lost.by_softirq
    row = table.loc["openssl"]
    softirqs = by_softirq[by_softirq["comm"] == "openssl"].set_index("action")
    assert softirqs["stolen_ns"].to_dict() == BY_SOFTIRQ
    assert lost.by_device.to_dict("records") == [
        {"comm": "openssl", "device": "eth0", "stolen_ns": 32_000, "stolen_max_ns": 32_000}
    ]
    assert {name: int(row[name]) for name in ROBBED} == ROBBED
    assert row["stolen_share"] == pytest.approx(44 / 160)
    # It waited for ksoftirqd, and for what that did as a softirq it was displaced.
    assert int(row["displaced_ns"]) == 20_000
    sender = table.loc["udpsink"]
    assert (int(sender["synchronous_ns"]), int(sender["stolen_ns"])) == (2_000, 0)


def test_the_commands_say_the_same(netcost: Netcost, path: Path) -> None:
    said = netcost("stolen", str(path), "--json").json
    victims = {one["comm"]: one for one in said["victims"]}
    assert {name: victims["openssl"][name] for name in ROBBED} == ROBBED
    softirqs = victims["openssl"]["by_softirq"]
    assert {one["action"]: one["stolen_max_ns"] for one in softirqs} == BY_SOFTIRQ
    assert (said["lost_events"], said["recorded"]) == (0, 1.0)
    said = netcost("ledger", str(path), "--json").json
    [openssl] = [one for one in said["victims"] if one["comm"] == "openssl"]
    assert sum(thief["ns"] for thief in openssl["thieves"]) == ROBBED["stolen_ns"]
    by_thief = {thief["thief"]: thief["ns"] for thief in openssl["thieves"]}
    assert sorted(by_thief.values()) == [2_000, 3_000, 3_000, 6_000, 30_000]
    [poll] = [name for name in by_thief if by_thief[name] == 30_000]
    assert "eth0" in poll


def test_half_of_the_story_is_half_of_its_figures(path: Path) -> None:
    capture = open_capture(path)
    parts = [
        stolen(capture.timeline(start, end)).victims.loc["openssl"]
        for start, end in ((0, 27e-6), (27e-6, 106e-6), (106e-6, None))
    ]
    for name in ("on_cpu_ns", "task_ns", "stolen_ns", "stolen_hardirq_ns"):
        assert sum(int(part.get(name, 0)) for part in parts) == ROBBED[name], name
