# A wait runs from the wake-up to the switch-in that ends it, and nobody waits who was running.

from pathlib import Path

import pytest
from hypothesis import given, settings
from narrator import recordings
from native_tables import Answer
from perfdata import Recording, cpu
from perfdata import happenings as h
from told import OPENSSL, UDPSINK, answer


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


@settings(max_examples=40)
@given(recordings())
def test_wake_up_and_wait_end_at_the_switch_in(
    tmp_path_factory: pytest.TempPathFactory, told: Recording
) -> None:
    got = Answer(told.write(tmp_path_factory.mktemp("waits") / "perf.data"))
    woken = [row for row in got.slices if row["wake_ns"] is not None]
    assert all(row["wake_ns"] + row["wait_ns"] == row["in_ns"] for row in woken)
    assert all(row["wait_ns"] >= 0 for row in woken)
