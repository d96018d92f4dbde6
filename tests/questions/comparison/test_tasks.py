# What the scheduler did to tasks, block by block, adds up to what is said of the whole; and so does
# who had the time that a victim did not have.

from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.comparison.run_blocks import Blocks
from netcost_analysis.questions.comparison.tasks import TAKERS, scheduled, victim_of
from support.asked import context_switches, run_queue
from support.kept import kept
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.run_sets import compared, recorded

WIDTH_NS = 20_000_000


@pytest.mark.parametrize(
    ("sample", "window"),
    [
        ("local-migrations.netcost.tar.zst", {"start_s": 0.2, "end_s": 0.5}),
        ("nic-guest/6.12-nic-2-flows.netcost.tar.zst", {}),
    ],
)
def test_blocks_add_up_to_the_whole(sample: str, window: dict[str, Any]) -> None:
    timeline = kept(sample).timeline(**window)
    start_ns, end_ns = (int(timeline.summary[name]) for name in ("start_ns", "end_ns"))
    first = start_ns // WIDTH_NS
    blocks = Blocks(WIDTH_NS, first, -(-end_ns // WIDTH_NS) - first)
    found = scheduled(timeline, blocks)
    assert found is not None
    assert found["block"].nunique() > 1
    sums = found.groupby("what")[["count", "ns"]].sum()
    switches = context_switches(timeline)
    for kind in ("voluntary", "involuntary"):
        assert sums["count"].get(kind, 0) == switches[kind].sum()
    waits = run_queue(timeline).groupby("waited_after")[["waits", "waited_ns"]].sum()
    for kind in ("wake-up", "runnable"):
        assert sums.loc[kind].to_list() == waits.loc[kind].to_list()
    slept = found[found["what"] == "asleep"]
    assert (slept.groupby("block")["ns"].sum() >= 0).all()


VICTIM, OTHER = h.Task(700, "openssl"), h.Task(701, "sha256sum")


# CPU 0 for 1 ms: openssl, with a NIC's interrupt and softirq on top of it; sha256sum for a part of
# it while openssl waits.
def run(
    folder: Path, neighbour_ns: int, other: h.Task = OTHER, victim: dict[str, Any] | None = None
) -> netcost.Run:
    happenings = [
        *(h.IrqEntry(100_000, 24, "eth0"), h.SoftirqRaise(105_000, 3), h.IrqExit(110_000, 24)),
        *(h.SoftirqEntry(111_000, 3), h.NapiPoll(190_000, "eth0", 4), h.SoftirqExit(200_000, 3)),
        h.Switch(500_000, other, prev_state=0),
        h.Switch(500_000 + neighbour_ns, VICTIM),
        *(h.IrqEntry(1_000_000, 24, "eth0"), h.IrqExit(1_010_000, 24)),
    ]
    lane = cpu(0, *happenings, task=VICTIM)
    return recorded(folder, lane, victim=victim)


def test_a_neighbours_time_is_not_the_networks(tmp_path: Path) -> None:
    pair = compared(run(tmp_path / "a", 1_000), run(tmp_path / "b", 300_000), victim="openssl")
    answer = pair.ask.comparison.changes()
    rows = answer.tables["victim_losses"].set_index("taker")
    assert list(rows.index) == list(TAKERS)
    for side in ("base_share", "new_share"):
        assert rows[side].sum() == pytest.approx(1)
    assert rows.loc["neighbours", "new_share"] == pytest.approx(0.33, abs=0.03)
    assert rows.loc["neighbours", "most_run"] == "b"
    assert rows.loc["network interrupts", "base_share"] == pytest.approx(
        rows.loc["network interrupts", "new_share"], abs=0.01
    )
    share = answer.frame.set_index("metric").loc["victim_share"]
    assert share["new"] == pytest.approx(rows.loc["victim", "new_share"], abs=0.02)


# A benchmark in Python is not the only python of a host.
def test_the_victim_is_the_one_that_was_started(tmp_path: Path) -> None:
    victim = {"command": "openssl speed", "pid": VICTIM.tid, "output": None}
    pair = compared(
        *(run(tmp_path / name, 300_000, h.Task(701, "openssl"), victim) for name in ("a", "b"))
    )
    answer = pair.ask.comparison.changes()
    rows = answer.tables["victim_losses"].set_index("taker")
    share = answer.frame.set_index("metric").loc["victim_share"]
    # The other one has 0.3 of the time.
    assert share["base"] == pytest.approx(0.57, abs=0.05)
    assert share["base"] == pytest.approx(rows.loc["victim", "base_share"], abs=0.02)


# netcost-record's --alternate 'sysctl ...; ./bench' is run by a shell.
def test_the_victim_of_several_commands_is_the_one_that_works(tmp_path: Path) -> None:
    shell, sysctl, bench = (
        h.Task(690 + at, name) for at, name in enumerate(("sh", "sysctl", "bench"))
    )
    lane = cpu(
        *(0, h.Fork(10_000, sysctl), h.Switch(20_000, sysctl, prev_state=1)),
        *(h.Switch(25_000, shell), h.Fork(30_000, bench), h.Switch(40_000, bench, prev_state=1)),
        *(h.IrqEntry(900_000, 24, "eth0"), h.IrqExit(910_000, 24)),
        task=shell,
    )
    for command, known in (("sysctl -qw a=0; ./bench", "bench"), ("./bench; true", "bench")):
        victim = {"command": command, "pid": shell.tid, "output": None}
        victim |= {"start_ns": 5_000, "end_ns": 905_000}
        one = recorded(tmp_path / command[2], lane, victim=victim)
        assert (victim_of(one), one.timelines()[0].victim) == (known, known)


def test_without_a_victim_there_is_nothing_to_lose(tmp_path: Path) -> None:
    pair = compared(run(tmp_path / "a", 1_000), run(tmp_path / "b", 1_000))
    assert not len(pair.ask.comparison.changes().tables["victim_losses"])
