# Migrations listed and counted: on a drawn timeline, and against perf's own lines.

import re
from pathlib import Path

import numpy as np
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.requires import MissingEventsError
from support.asked import (
    client_and_server,
    migration_effect,
    migration_rates,
    migration_verdict,
    migrations,
)
from support.host import require_tool
from support.kept import kept
from support.native_tables import Answer
from support.oracle import run
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import OPENSSL, RCU, UDPSINK, answer

LOCAL = "local-migrations.netcost.tar.zst"
GUEST = "nic-guest/6.1-nic-1-flows.netcost.tar.zst"


# CPU 0  openssl |wakes udpsink, 0 -> 1 |             |pulls udpsink 1 -> 0 |udpsink
#                100..102                              500                    520         900
# CPU 1  idle          |udpsink          |idle                                            900
#                       110               300
def drawn(path: Path) -> netcost.Timeline:
    told = recording(
        cpu(
            0,
            h.Waking(100, UDPSINK, 0),
            h.MigrateTask(101, UDPSINK, 0, 1),
            h.Wakeup(102, UDPSINK, 1),
            h.Switch(450, h.idle(0), 1),
            h.MigrateTask(500, UDPSINK, 1, 0),
            h.Switch(520, UDPSINK),
            h.SoftirqRaise(900, RCU),
            task=OPENSSL,
        ),
        cpu(1, h.Switch(110, UDPSINK), h.Switch(300, h.idle(1), 0), h.SoftirqRaise(900, RCU)),
        known=(OPENSSL, UDPSINK),
    )
    return netcost.open_capture(told.write(path / "perf.data")).timeline()


def test_each_migration_and_what_followed(tmp_path: Path) -> None:
    rows = migrations(drawn(tmp_path))
    assert rows[["tid", "orig_cpu", "dest_cpu", "cause"]].to_numpy().tolist() == [
        [UDPSINK.tid, 0, 1, "wake-up"],
        [UDPSINK.tid, 1, 0, "balance"],
    ]
    assert rows["orig_holder_comm"].tolist()[0] == "openssl"
    assert rows["dest_idle"].tolist() == [True, True]
    assert rows["until_run_ns"].tolist() == [9, 20]
    assert rows["ran_on_dest"].tolist() == [True, True]
    # The second migration is where one window ends and the next begins.
    capture = drawn(tmp_path).capture
    parts = [capture.timeline(0, 4e-7), capture.timeline(4e-7, None)]
    assert [migrations(one)["time_ns"].tolist() for one in parts] == [[101], [500]]


def test_rates(tmp_path: Path) -> None:
    timeline = drawn(tmp_path)
    [row] = migration_rates(timeline).to_dict("records")
    assert (row["comm"], row["migrations"], row["to_idle"]) == ("udpsink", 2, 2)
    assert [row[name] for name in ("wake_up", "balance", "stopper", "exec")] == [1, 1, 0, 0]
    assert row["migrations_per_s"] == pytest.approx(2 / 800e-9)
    # On a CPU from 110 to 300 and from 520 to 900.
    assert row["migrations_per_on_cpu_s"] == pytest.approx(2 / 570e-9)
    by_cpu = migration_rates(timeline, by="cpu")
    assert sorted(by_cpu["cpu"]) == [0, 1]
    assert by_cpu["migrations_per_on_cpu_s"].isna().all()


def test_too_few_to_tell(tmp_path: Path) -> None:
    timeline = drawn(tmp_path)
    [found] = migration_verdict(timeline, netcost.ALL).verdicts.to_dict("records")
    assert (found["explains"], found["reason"]) == ("cannot tell", "too few studied")
    assert (found["migrations"], found["studied"]) == (2, 0)
    [row] = migration_verdict(timeline, "openssl").verdicts.to_dict("records")
    assert (row["comm"], row["explains"], row["reason"]) == ("openssl", "no", "not migrated")
    rows = migration_effect(timeline, "openssl")
    assert rows["migrations"].tolist() == [0] * len(rows)


def test_what_was_not_recorded_is_named(tmp_path: Path) -> None:
    told = recording(cpu(0, h.Waking(100, UDPSINK), task=OPENSSL), formats=t.IRQ_FORMATS)
    timeline = netcost.open_capture(told.write(tmp_path / "perf.data")).timeline()
    for question in (migrations, migration_rates, migration_effect, migration_verdict):
        with pytest.raises(MissingEventsError, match=r"sched_migrate_task.*--profile migration"):
            question(timeline)


def test_they_are_perf_s_lines() -> None:
    timeline = kept(GUEST).timeline()
    assert timeline.capture.bundle
    trace = timeline.capture.bundle.trace
    text = run(require_tool("perf"), "script", "-f", "-i", trace, "-F", "time,event,trace")
    told = re.findall(r"sched_migrate_task: .*?pid=(\d+) .*?orig_cpu=(\d+) dest_cpu=(\d+)", text)
    rows = migrations(timeline)[["tid", "orig_cpu", "dest_cpu"]].astype(str)
    assert sorted(rows.to_numpy().tolist()) == sorted(map(list, told))
    rates = migration_rates(timeline)
    causes = rates[["wake_up", "balance", "stopper", "exec"]].to_numpy().sum()
    assert rates["migrations"].sum() == causes == len(told) > 100


# The window around a migration, measured by walking the segments one at a time.
def test_windows_are_what_the_segments_say() -> None:
    timeline = kept(LOCAL).timeline()
    tid = int(client_and_server(timeline)["tid"].iloc[0])
    width = 1_000_000
    rows = migration_effect(timeline, tid, (width,), by_cause=False).set_index("measure")
    moved = timeline.migrations[timeline.migrations["tid"] == tid]
    own = timeline.segments[
        (timeline.segments["tid"] == tid).fillna(False) & (timeline.segments["context"] == "task")
    ]
    starts, ends = (own[name].to_numpy() for name in ("start_ns", "end_ns"))
    after = [
        np.clip(np.minimum(ends, at + width) - np.maximum(starts, at), 0, None).sum() / width
        for at in moved["time_ns"]
    ]
    row = rows.loc["run"]
    left_out = row[[name for name in rows if str(name).startswith("left_out")]].sum()
    assert left_out + row["studied"] == row["migrations"] == len(moved)
    if not left_out:
        assert row["after"] == pytest.approx(sum(after) / len(after))


# Of one CPU alone the time after a migration to the other would look lost.
def test_a_timeline_without_a_cpu_has_no_effect() -> None:
    part = kept(LOCAL).timeline(cpus=[0])
    with pytest.raises(netcost.CaptureError, match="from CPU 1"):
        migration_effect(part)
    answer = part.ask.migration.migration_verdict()
    last = answer.frame.iloc[-1]
    assert (last.explains, last.reason, last.studied) == ("cannot tell", "incomparable", 0)
    assert "of all CPUs" in last.why
    assert len(answer.tables["effects"]) == 0
    with pytest.raises(netcost.CaptureError, match="nothing to draw"):
        answer.plot()
    assert len(migrations(part)) > 0
    # Nor is known when a task slept, or how much of what it sent is this CPU's.
    both = client_and_server(part)
    assert both[["asleep_between_ns", "sent_bytes"]].isna().all(axis=None)
    assert (both["sent_packets"] < 9_850).all()


# A migration is a wake-up's only if that wake-up belongs to it: neither an older nor a later one of
# the same task does. And a timeline of some CPUs lists the migrations of those.

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
