# A wait runs from the wake-up to the switch-in that ends it, and nobody waits who was running.

from pathlib import Path

import pytest
from hypothesis import given

import netcost_analysis
from netcost_analysis.questions.lifetimes import NAMES
from support.asked import lifetimes, waited_for
from support.examples import examples
from support.host import Fresh
from support.narrator import recordings
from support.native_tables import Answer
from support.perfdata import Recording, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import KSOFTIRQD, OPENSSL, UDPSINK, answer


# CPU 0  (openssl)                |switch  idle ...
#                                 200
# CPU 1  |waking and wakeup of openssl, which has not left CPU 0 yet
#        195
# The first event of CPU 0 witnesses that openssl ran before it: that stay ended no wait.
def test_a_task_that_already_ran_did_not_wait(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(0, h.Switch(200, h.idle(0), 1), h.Waking(900, UDPSINK), task=OPENSSL),
        cpu(1, h.Waking(195, OPENSSL, 0), h.Wakeup(196, OPENSSL, 0), h.Waking(900, UDPSINK)),
        known=(OPENSSL,),
    )
    [first] = [row for row in got.slices if row["tid"] == OPENSSL.tid]
    assert (first["in_ns"], first["wake_ns"], first["wait_ns"]) == (195, None, None)


# CPU 0  openssl  |switch |idle .......... |(udpsink runs, its switch-in was not recorded)
# CPU 1           |wakeup of udpsink        |
#                 100     150              300
# Since when it ran is unknown, so its wait has no length.
def test_a_switch_in_that_nobody_saw_ends_no_known_wait(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Switch(100, h.idle(0), 1),
            h.unrecorded(h.Switch(250, UDPSINK, 0)),
            h.Waking(300, OPENSSL, 0),
            h.Waking(900, OPENSSL, 0),
            task=OPENSSL,
        ),
        cpu(1, h.Waking(149, UDPSINK, 0), h.Wakeup(150, UDPSINK, 0), h.Waking(900, UDPSINK)),
        known=(OPENSSL, UDPSINK),
    )
    [stay] = [row for row in got.slices if row["tid"] == UDPSINK.tid]
    assert (stay["in_ns"], stay["wake_ns"], stay["wait_ns"]) == (300, None, None)


# CPU 0  openssl  |switch |udpsink .................................... |switch  openssl
#                 1000            |moved to CPU 1     |moved back        3000
#                                 1200                2800
# CPU 1 was not recorded: whether it waited there or ran, nobody knows.
MOVED = (h.MigrateTask(1_200, OPENSSL, 0, 1), h.MigrateTask(2_800, OPENSSL, 1, 0))


@pytest.mark.parametrize(
    "seen",
    [
        [h.Switch(1_000, UDPSINK, 0), *MOVED],
        # Pulled from there: that it went there, only CPU 1 could have told.
        [h.Switch(1_000, UDPSINK, 0), MOVED[1]],
        [h.Switch(1_000, UDPSINK, 0), MOVED[0]],
        # It slept until it was woken there.
        [h.Switch(1_000, UDPSINK, 1), h.Waking(1_200, OPENSSL, 1), h.Wakeup(1_200, OPENSSL, 1)],
    ],
    ids=["there and back", "back", "there", "woken there"],
)
@pytest.mark.parametrize("recorded", [False, True])
def test_what_a_task_did_on_a_cpu_that_was_not_recorded_is_unknown(
    tmp_path: Path, seen: list[h.Happening], recorded: bool
) -> None:
    lanes = [cpu(0, *seen, h.Switch(3_000, OPENSSL, 1), h.Waking(4_000, UDPSINK), task=OPENSSL)]
    lanes += [cpu(1, h.Waking(100, UDPSINK), h.Waking(4_000, UDPSINK))] if recorded else []
    formats = tuple(one for one in t.FORMATS if one is not t.SCHED_PROCESS_EXIT)
    told = recording(*lanes, known=(OPENSSL, UDPSINK), formats=formats)
    got = Answer(told.write(tmp_path / "perf.data"))
    [wait] = [row["wait_ns"] for row in got.slices if row["in_ns"] == 3_000]
    timeline = netcost_analysis.open_capture(tmp_path / "perf.data").timeline()
    life = lifetimes(timeline).loc["openssl"]
    assert life[list(NAMES)].sum() == life["lifetime_max_ns"]
    holders = waited_for(timeline)
    waited = holders[holders["comm"] == "openssl"]["ns"].sum()
    if recorded:
        slept = life["asleep_ns"]
        assert (wait, waited, life["waited_others_ns"]) == (2_000 - slept,) * 3
    else:
        assert wait is None
        assert (waited, life["waited_others_ns"], life["asleep_ns"]) == (0, 0, 0)
        assert life["unaccounted_ns"] == 2_000


# CPU 0  openssl  |switch |udpsink ................... to the end
#                 1000            |moved to CPU 1, or woken there
#                                 1200
@pytest.mark.parametrize(
    "seen",
    [
        [h.Switch(1_000, UDPSINK, 0), MOVED[0]],
        [h.Switch(1_000, UDPSINK, 1), h.Waking(1_200, OPENSSL, 1), h.Wakeup(1_200, OPENSSL, 1)],
    ],
    ids=["moved", "woken"],
)
@pytest.mark.parametrize("recorded", [False, True])
def test_who_does_not_come_back_from_there_is_not_said_to_wait(
    tmp_path: Path, seen: list[h.Happening], recorded: bool
) -> None:
    lanes = [cpu(0, h.Waking(0, UDPSINK), *seen, h.Waking(4_000, UDPSINK), task=OPENSSL)]
    lanes += [cpu(1, h.Waking(100, UDPSINK), h.Waking(4_000, UDPSINK))] if recorded else []
    path = recording(*lanes, known=(OPENSSL, UDPSINK)).write(tmp_path / "perf.data")
    life = lifetimes(netcost_analysis.open_capture(path).timeline())
    row = life.loc["openssl", ["waited_others_ns", "asleep_ns", "unaccounted_ns"]]
    known = [3_000 - (asleep := row["asleep_ns"]), asleep, 0]
    assert row.tolist() == (known if recorded else [0, 0, 3_000])


# ksoftirqd had CPU 0 while the task was moved to a CPU that nobody recorded: it may have run there.
@pytest.mark.parametrize("dest", [1, 2])
def test_who_left_for_a_cpu_that_was_not_recorded_is_not_displaced(
    tmp_path: Path, dest: int
) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Switch(100, KSOFTIRQD, 0),
            h.SoftirqEntry(110, 3),
            h.SoftirqExit(190, 3),
            h.MigrateTask(195, OPENSSL, 0, dest),
            h.MigrateTask(197, OPENSSL, dest, 0),
            h.Switch(200, OPENSSL, 1),
            h.Waking(900, UDPSINK),
            task=OPENSSL,
        ),
        cpu(1, h.Waking(50, UDPSINK), h.Waking(900, UDPSINK)),
        known=(OPENSSL, KSOFTIRQD),
    )
    assert sum(row["ns"] for row in got.displaced) == (80 if dest == 1 else 0)


@examples(40)
@given(recordings())
def test_wake_up_and_wait_end_at_the_switch_in(fresh: Fresh, told: Recording) -> None:
    got = Answer(told.write(fresh() / "perf.data"))
    woken = [row for row in got.slices if row["wake_ns"] is not None]
    assert all(row["wake_ns"] + row["wait_ns"] == row["in_ns"] for row in woken)
    assert all(row["wait_ns"] >= 0 for row in woken)
