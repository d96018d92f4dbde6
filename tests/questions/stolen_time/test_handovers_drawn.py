# Hand-overs of timelines that a machine drew: what batches are does not matter, and who waited is
# what the ledger says.

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given

import netcost_analysis as netcost
from support.asked import handovers
from support.host import Fresh, examples
from support.large import take_in_parts
from support.narrator import recordings
from support.perfdata import Recording, cpu, recording
from support.perfdata import happenings as h
from support.told import KSOFTIRQD, KTIMERS, NAPI_THREAD, NET_RX, OPENSSL, TIMER, UDPSINK


def told(file: Path, rows: int | None) -> Any:
    with pytest.MonkeyPatch.context() as small:
        if rows is not None:
            take_in_parts(small, rows)
        return handovers(netcost.open_capture(file).timeline())


def assert_same(file: Path) -> Any:
    whole = told(file, None)
    for rows in (1, 5):
        parts = told(file, rows)
        pd.testing.assert_frame_equal(parts.handovers, whole.handovers, check_exact=True)
        pd.testing.assert_frame_equal(parts.displaced, whole.displaced, check_exact=True)
    return whole


# Softirqs that begin in one task and end after another's, too.
@pytest.mark.parametrize("realtime", [False, True])
def test_batches_change_nothing(realtime: bool, fresh: Fresh) -> None:
    @examples(4)
    @given(recordings(realtime))
    def check(drawn: Recording) -> None:
        file = drawn.write(fresh() / "perf.data")
        got, timeline = assert_same(file), netcost.open_capture(file).timeline()
        frame = got.handovers
        assert (frame["network_ns"] <= frame["on_cpu_ns"]).all()
        assert (frame["on_cpu_ns"] <= frame["wall_ns"]).all()
        if realtime or timeline.missing["displaced"]:
            return
        # A thread that only waits as its CPU is handed over to another has no hand-over of its own.
        theirs = timeline.displaced.groupby("tid")["ns"].sum()
        mine = got.displaced.groupby("tid")["ns"].sum()
        assert mine.to_dict().items() <= theirs.to_dict().items()

    check()


# CPU 0  openssl | irq: TIMER | TIMER | TIMER NET_RX | wakes ksoftirqd | ... | ksoftirqd: NET_RX
# CPU 1  udpsink, which is moved to CPU 0 as that is its turn, and waits there
def test_a_batch_ends_anywhere(tmp_path: Path) -> None:
    file = recording(
        cpu(
            0,
            h.SoftirqRaise(100, TIMER),
            h.SoftirqEntry(110, TIMER),
            h.SoftirqRaise(115, TIMER),
            h.SoftirqExit(120, TIMER),
            h.SoftirqEntry(130, TIMER),
            h.SoftirqRaise(132, TIMER),
            h.SoftirqRaise(135, NET_RX),
            h.SoftirqExit(140, TIMER),
            h.SoftirqEntry(150, TIMER),
            h.SoftirqExit(160, TIMER),
            h.SoftirqEntry(170, NET_RX),
            h.NapiPoll(190, "eth0", 64),
            h.SoftirqRaise(192, NET_RX),
            h.SoftirqExit(200, NET_RX),
            h.Waking(210, KSOFTIRQD),
            h.Wakeup(220, KSOFTIRQD),
            h.Switch(300, KSOFTIRQD, 0),
            h.SoftirqEntry(310, NET_RX),
            h.NapiPoll(790, "eth0", 10),
            h.SoftirqExit(800, NET_RX),
            h.Switch(900, UDPSINK, 1),
            h.Switch(1_000, OPENSSL, 1),
            h.Waking(2_000, UDPSINK),
            task=OPENSSL,
        ),
        cpu(
            1,
            h.Switch(150, NAPI_THREAD, 0),
            h.NapiPoll(390, "eth1", 1),
            h.MigrateTask(400, UDPSINK, 1, 0),
            h.Switch(500, h.idle(1), 1),
            h.Waking(2_000, UDPSINK),
            task=UDPSINK,
        ),
        known=(OPENSSL, UDPSINK, KSOFTIRQD, NAPI_THREAD),
    ).write(tmp_path / "perf.data")
    got = assert_same(file)
    ksoftirqd = got.handovers.set_index("comm").loc["ksoftirqd/0"]
    assert (ksoftirqd["rounds"], ksoftirqd["call_ns"], ksoftirqd["packets"]) == (3, 90, 10)
    # Behind the NAPI thread from 150 to 400 on CPU 1, then behind ksoftirqd to 800 on CPU 0.
    waited = got.displaced.groupby("comm")["ns"].sum()
    assert waited.to_dict() == {"udpsink": 250 + 400, "openssl": 490}


# CPU 0  ksoftirqd: NET_RX .................... | udpsink | ...
# CPU 1  udpsink | migration/1, which moves it  | ...
# Why a stopper moved a task is known 50 ms later: the move comes after the stay behind it.
def test_a_move_that_comes_late(tmp_path: Path) -> None:
    stopper, ms = h.Task(21, "migration/1", prio=0), 1_000_000

    # Two tasks in turns, in rounds of the recorder.
    def later(*tasks: h.Task) -> list[h.Happening]:
        found: list[h.Happening] = []
        for number, at in enumerate(range(ms, 120 * ms, ms // 2)):
            found += [h.Switch(at, tasks[number % 2], 1), *[h.Flush(at + 1)] * (number % 4 == 3)]
        return found

    file = recording(
        cpu(
            0,
            h.Wakeup(10, KSOFTIRQD),
            h.Switch(12, KSOFTIRQD, 0),
            h.SoftirqEntry(20, NET_RX),
            h.NapiPoll(890, "eth0", 64),
            h.SoftirqExit(900, NET_RX),
            h.Switch(910, UDPSINK, 1),
            h.Switch(1_000, OPENSSL, 1),
            *later(NAPI_THREAD, OPENSSL),
            task=OPENSSL,
        ),
        cpu(
            1,
            h.Wakeup(20, stopper),
            h.Switch(21, stopper, 0),
            h.MigrateTask(500, UDPSINK, 1, 0),
            h.Switch(505, h.idle(1), 1),
            *later(KTIMERS, h.idle(1)),
            task=UDPSINK,
        ),
        known=(OPENSSL, UDPSINK, KSOFTIRQD, stopper),
    ).write(tmp_path / "perf.data")
    waited = assert_same(file).displaced.groupby("comm")["ns"].sum()
    # Runnable since 21, and in ksoftirqd's way from 500 on.
    assert waited["udpsink"] == 900 - 500
