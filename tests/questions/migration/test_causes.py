# A migration is a wake-up's only if that wake-up belongs to it: neither an older nor a later one of
# the same task does. And a timeline of some CPUs lists the migrations of those.

from pathlib import Path

import pytest

from support.native_tables import Answer
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import OPENSSL, UDPSINK, answer

STOPPER = h.Task(18, "migration/0", prio=0)
WITHOUT_WAKING = tuple(one for one in t.FORMATS if one.name != "sched_waking")
CAUSES: dict[str, tuple[str, tuple[Cpu, ...]]] = {
    # CPU 0  idle |migrate udpsink 1 -> 0 |udpsink    |idle     |irq: wakes udpsink |udpsink
    #             105                     120         500       900_000  1_000_000
    # Pulled by an idle CPU, it runs and sleeps; the interrupt wakes it a millisecond later.
    "a later wake-up": (
        "balance",
        (
            cpu(
                0,
                h.MigrateTask(105, UDPSINK, 1, 0),
                h.Switch(120, UDPSINK),
                h.Switch(500, h.idle(0), 1),
                h.IrqEntry(900_000, 32),
                h.Waking(1_000_000, UDPSINK, 0),
                h.Wakeup(1_000_001, UDPSINK, 0),
                h.IrqExit(1_000_002, 32),
                h.Switch(1_000_010, UDPSINK),
                h.IrqEntry(2_000_000, 32),
                h.IrqExit(2_000_010, 32),
            ),
        ),
    ),
    # CPU 0  openssl |waking udpsink 0 |udpsink         |migration/0: migrate 0 -> 1 |openssl
    #                100               200              5_000_000                    5_000_020
    # It was woken 5 ms before and stayed; it is the stopper, woken by CPU 1, that moves it.
    "an earlier wake-up": (
        "stopper",
        (
            cpu(
                0,
                h.Waking(100, UDPSINK, 0),
                h.Wakeup(101, UDPSINK, 0),
                h.Switch(200, UDPSINK),
                h.Switch(5_000_000, STOPPER),
                h.MigrateTask(5_000_010, UDPSINK, 0, 1),
                h.Switch(5_000_020, OPENSSL, 1),
                h.IrqEntry(6_000_000, 32),
                h.IrqExit(6_000_001, 32),
                task=OPENSSL,
            ),
            cpu(
                1,
                h.Waking(4_999_000, STOPPER, 0),
                h.Wakeup(4_999_001, STOPPER, 0),
                h.Switch(5_000_100, UDPSINK),
                h.IrqEntry(6_000_000, 32),
                h.IrqExit(6_000_001, 32),
            ),
        ),
    ),
    # CPU 0  openssl |(waking udpsink) |migrate 0 -> 1 |wakeup udpsink 1
    #                100               101             102
    "its own wake-up": (
        "wake-up",
        (
            cpu(
                0,
                h.IrqEntry(50, 32),
                h.IrqExit(60, 32),
                h.Waking(100, UDPSINK, 0),
                h.MigrateTask(101, UDPSINK, 0, 1),
                h.Wakeup(102, UDPSINK, 1),
                h.IrqEntry(300, 32),
                h.IrqExit(310, 32),
                task=OPENSSL,
            ),
            cpu(1, h.Switch(110, UDPSINK), h.Switch(300, h.idle(1), 1)),
        ),
    ),
}


@pytest.mark.parametrize("formats", [t.FORMATS, WITHOUT_WAKING], ids=["waking", "no waking"])
@pytest.mark.parametrize(("cause", "cpus"), CAUSES.values(), ids=CAUSES)
def test_cause(
    cause: str, cpus: tuple[Cpu, ...], formats: tuple[t.Format, ...], tmp_path: Path
) -> None:
    got = answer(tmp_path, *cpus, known=(OPENSSL, UDPSINK, STOPPER), formats=formats)
    [row] = got.migrations
    assert row["cause"].partition(":")[0] == cause


# CPU 0 pulls udpsink from CPU 1; nothing of that touches CPU 2.
def test_migrations_of_the_cpus_asked_for(tmp_path: Path) -> None:
    told = recording(
        cpu(
            0,
            h.MigrateTask(105, UDPSINK, 1, 0),
            h.Switch(120, UDPSINK),
            h.Switch(900, h.idle(0), 1),
        ),
        *(cpu(number, h.Waking(100, UDPSINK), h.Waking(900, UDPSINK), task=OPENSSL)
          for number in (1, 2)),
        known=(OPENSSL, UDPSINK),
    )  # fmt: skip
    path = told.write(tmp_path / "perf.data")
    for cpus, count in ((None, 1), ([0], 1), ([0, 1], 1), ([2], 0)):
        assert len(Answer(path, ["migrations"], cpus=cpus).migrations) == count
