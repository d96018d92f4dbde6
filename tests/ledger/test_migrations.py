# Why a task changed CPU, as later or earlier events show it, and who held either CPU.

from pathlib import Path

import pytest

from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import OPENSSL, UDPSINK, answer

MIGRATION = h.Task(18, "migration/0", prio=0)


# CPU 0  openssl: waking udpsink, migrate udpsink 0 -> 1, wakeup on 1
# CPU 1  idle ...                                          |udpsink
def test_placed_at_its_wake_up(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Waking(100, UDPSINK, 0),
            h.MigrateTask(101, UDPSINK, 0, 1),
            h.Wakeup(102, UDPSINK, 1),
            h.Waking(300, OPENSSL),
            task=OPENSSL,
        ),
        cpu(1, h.Switch(110, UDPSINK), h.Waking(300, OPENSSL)),
        known=(UDPSINK, OPENSSL),
    )
    [row] = got.migrations
    assert (row["tid"], row["comm"], row["orig_cpu"], row["dest_cpu"]) == (600, "udpsink", 0, 1)
    assert row["cause"] == "wake-up"
    assert (row["orig_holder_tid"], row["dest_holder_tid"]) == (500, 0)
    [woken] = [one for one in got.slices if one["tid"] == 600]
    assert (woken["wake_ns"], woken["wait_ns"]) == (102, 8)


# CPU 0  idle's SCHED softirq pulls udpsink from CPU 1
def test_pulled_by_load_balancing(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.SoftirqEntry(100, 7),
            h.MigrateTask(105, UDPSINK, 1, 0),
            h.SoftirqExit(110, 7),
            h.Switch(120, UDPSINK),
            h.Waking(200, OPENSSL),
        ),
        cpu(1, h.Waking(90, UDPSINK), h.Waking(200, UDPSINK), task=OPENSSL),
    )
    [row] = got.migrations
    assert row["cause"] == "balance"
    assert (row["orig_holder_tid"], row["dest_holder_tid"]) == (500, 0)


# The stopper thread moves a task that runs: for exec, for a new affinity, or to balance actively.
@pytest.mark.parametrize("execs", [True, False])
def test_pushed_by_the_stopper(tmp_path: Path, execs: bool) -> None:
    then: list[h.Happening] = [h.Switch(150, UDPSINK)]
    if execs:
        then.append(h.Exec(160, "/usr/bin/udpsink", "udpsink"))
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Switch(100, MIGRATION, 0),
            h.MigrateTask(105, UDPSINK, 0, 1),
            h.Switch(110, h.idle(0), 1),
            h.Waking(300, OPENSSL),
            task=UDPSINK,
        ),
        cpu(1, h.Waking(90, OPENSSL), *then, h.Waking(300, OPENSSL)),
    )
    [row] = got.migrations
    assert row["cause"].startswith("stopper")
    assert ("exec" in row["cause"]) == execs
    assert (row["orig_holder_tid"], row["dest_holder_tid"]) == (18, 0)
