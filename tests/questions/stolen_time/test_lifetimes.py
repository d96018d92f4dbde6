# How long a task was there and where all of that time went: on drawn timelines by hand, as a
# partition of every sample, and as what shares of wall time are of.

import re
from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis
from netcost_analysis.errors import ArgumentError
from support.asked import effective_share, lifetimes, run_queue, stolen, waited_for
from support.doctored import doctored
from support.perfdata import Cpu, Header, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.run_cli import Netcost
from support.told import IDLE, OPENSSL, UDPSINK

MAKE = h.Task(700, "make")
DEAD, ASLEEP = 0x20, 1
# Of a host with one CPU: who came to no CPU here came to none.
ONE = Header(nr_cpus=1)


def timeline(path: Path, *cpus: Cpu, **settings: object) -> netcost_analysis.Timeline:
    path.mkdir(exist_ok=True)
    known = (OPENSSL, UDPSINK, MAKE)
    file = recording(*cpus, known=known, **settings).write(path / "perf.data")
    return netcost_analysis.open_capture(file).timeline()


# make |fork|wakeup_new| openssl  irq 32  |udpsink |openssl| idle .woken.| openssl |exit| idle
# 0     100  110       200        400..450 1000    1300    1500   1700   1750      1990 2000   4000
def lived() -> list[h.Happening]:
    return [
        h.Waking(0, UDPSINK),
        h.Fork(100, OPENSSL),
        h.WakeupNew(110, OPENSSL),
        h.Switch(200, OPENSSL, ASLEEP),
        h.IrqEntry(400, 32),
        h.IrqExit(450, 32),
        h.Switch(1_000, UDPSINK, 0),
        h.Switch(1_300, OPENSSL, ASLEEP),
        h.Switch(1_500, IDLE, ASLEEP),
        h.Waking(1_700, OPENSSL),
        h.Wakeup(1_700, OPENSSL),
        h.Switch(1_750, OPENSSL, 0),
        h.Exit(1_990),
        h.Switch(2_000, IDLE, DEAD),
        h.Waking(4_000, UDPSINK),
    ]


def test_a_life_by_hand(tmp_path: Path) -> None:
    line = timeline(tmp_path, cpu(0, *lived(), task=MAKE))
    got = lifetimes(line).loc["openssl"].to_dict()
    assert got == {
        "tasks": 1,
        "lifetime_ns": 1_900,
        "lifetime_max_ns": 1_900,
        "absent_ns": 2_100,
        "own_ns": 1_200,
        "stolen_unrecorded_ns": 0,
        "stolen_ns": 50,
        "stolen_or_synchronous_ns": 0,
        "synchronous_ns": 0,
        "scheduled_ns": 0,
        "displaced_ns": 0,
        # From wakeup_new to its first stay, preempted, and from being woken.
        "waited_others_ns": 90 + 300 + 50,
        "asleep_ns": 10 + 200,
        "unaccounted_ns": 0,
    }
    # Of its life, not of a window in which it was not there for more than half.
    assert effective_share(line).loc["openssl", "effective_share"] == 1_200 / 1_900
    waits = run_queue(line, "comm").set_index(["comm", "waited_after"])
    assert waits.loc[("openssl", "wake-up"), "wait_share"] == 140 / 1_900


# make runs as it is forked, udpsink while it is preempted, nobody as it is woken on an idle CPU.
def test_for_whom_it_waited(tmp_path: Path) -> None:
    line = timeline(tmp_path, cpu(0, *lived(), task=MAKE))
    got = waited_for(line).set_index(["comm", "holder_comm"])
    assert got["ns"].to_dict() == {
        ("openssl", "udpsink"): 300,
        ("openssl", "make"): 90,
        ("openssl", "(idle)"): 50,
    }
    assert got.loc[("openssl", "udpsink"), "lifetime_share"] == 300 / 1_900
    half = waited_for(line.capture.timeline(1_100e-9, 4_000e-9), by="tid")
    half = half.set_index(["tid", "holder_comm"])
    assert half["ns"].to_dict() == {(500, "udpsink"): 200, (500, "(idle)"): 50}
    formats = tuple(one for one in t.FORMATS if one is not t.SCHED_MIGRATE_TASK)
    bare = timeline(tmp_path / "b", cpu(0, *lived(), task=MAKE), formats=formats)
    # Where it waited before it ran at all nobody says then.
    assert waited_for(bare).set_index(["comm", "holder_comm"])["ns"].to_dict() == {
        ("openssl", "udpsink"): 300,
        ("openssl", "(unknown)"): 90,
        ("openssl", "(idle)"): 50,
    }


# Preempted on CPU 0 at 200, moved at 250, on CPU 1 at 300: udpsink had the one, make the other.
@pytest.mark.parametrize(
    ("moved", "holders"), [(True, {"udpsink": 50, "make": 50}), (False, {"(unknown)": 100})]
)
def test_for_whom_it_waited_on_two_cpus(
    tmp_path: Path, moved: bool, holders: dict[str, int]
) -> None:
    line = timeline(
        tmp_path,
        cpu(
            0,
            h.Switch(200, UDPSINK),
            h.MigrateTask(250, OPENSSL, 0, 1),
            h.Waking(900, MAKE),
            task=OPENSSL,
        ),
        cpu(1, h.Waking(100, MAKE), h.Switch(300, OPENSSL), h.Waking(900, MAKE), task=MAKE),
        formats=tuple(one for one in t.FORMATS if moved or one is not t.SCHED_MIGRATE_TASK),
    )
    rows = waited_for(line)
    assert rows[rows["comm"] == "openssl"].set_index("holder_comm")["ns"].to_dict() == holders


def test_a_window_cuts_a_life(tmp_path: Path) -> None:
    whole = timeline(tmp_path, cpu(0, *lived(), task=MAKE))
    line = whole.capture.timeline(1_100e-9, 1_900e-9)
    got = lifetimes(line).loc["openssl"]
    assert got[["lifetime_ns", "lifetime_max_ns", "absent_ns"]].tolist() == [800, 800, 0]
    assert got[["own_ns", "waited_others_ns", "asleep_ns"]].tolist() == [350, 250, 200]
    after = lifetimes(whole.capture.timeline(1_600e-9, 4_000e-9)).loc["openssl"]
    assert after[["lifetime_ns", "absent_ns"]].tolist() == [400, 2_000]


# Nobody saw it end, but a last switch-out says so: EXIT_ZOMBIE. Nobody saw it begin.
def test_without_events_of_tasks_that_begin_and_end(tmp_path: Path) -> None:
    births = (t.SCHED_PROCESS_FORK, t.SCHED_WAKEUP_NEW, t.SCHED_PROCESS_EXIT)
    formats = tuple(one for one in t.FORMATS if one not in births)
    got = lifetimes(timeline(tmp_path, cpu(0, *lived(), task=MAKE), formats=formats))
    row = got.loc["openssl"]
    # It was there from its first stay on, at the latest.
    assert row[["lifetime_ns", "lifetime_max_ns", "absent_ns"]].tolist() == [1_800, 2_000, 2_000]
    assert row["unaccounted_ns"] == 200
    share = effective_share(timeline(tmp_path, cpu(0, *lived(), task=MAKE), formats=formats))
    ends = share.loc["openssl", ["effective_share", "effective_max_share"]].tolist()
    assert ends == [1_200 / 2_000, 1_200 / 1_800]


# It fell asleep, and of a second CPU nothing is known, nor of exits: it may have ended there.
@pytest.mark.parametrize(("header", "least"), [(ONE, 4_000), (Header(nr_cpus=2), 1_500)])
def test_who_sleeps_is_there_where_it_would_have_been_seen(
    tmp_path: Path, header: Header, least: int
) -> None:
    told = [h.Waking(0, UDPSINK), h.Switch(1_500, IDLE, ASLEEP), h.Waking(4_000, UDPSINK)]
    formats = tuple(one for one in t.FORMATS if one is not t.SCHED_PROCESS_EXIT)
    line = timeline(tmp_path, cpu(0, *told, task=OPENSSL), formats=formats, header=header)
    row = lifetimes(line).loc["openssl"]
    assert row[["lifetime_ns", "lifetime_max_ns"]].tolist() == [least, 4_000]
    asleep = 2_500 if least == 4_000 else 0
    assert row[["asleep_ns", "unaccounted_ns"]].tolist() == [asleep, 2_500 - asleep]


# openssl 0..1000 |idle 1000..1500|                (9 lost) LOST 3000 |idle ... openssl 3500..4000
# Where it was in between nobody knows: all of that may have been its time.
def lost() -> Cpu:
    return cpu(
        0,
        h.Waking(0, UDPSINK),
        h.Switch(1_000, IDLE, ASLEEP),
        h.Waking(1_500, UDPSINK),
        h.Lost(3_000, 9),
        h.Waking(3_200, UDPSINK),
        h.Wakeup(3_400, OPENSSL),
        h.Switch(3_500, OPENSSL, 0),
        h.Waking(4_000, UDPSINK),
        task=OPENSSL,
    )


def test_what_may_have_been_its_time_is_its_upper_bound(tmp_path: Path) -> None:
    line = timeline(tmp_path, lost())
    row = stolen(line).victims.loc["openssl"]
    unknown = int(line.sums().loc[line.sums()["tid"].isna(), "ns"].sum())
    assert unknown >= 1_500
    assert row[["unknown_ns", "unknown_max_ns"]].tolist() == [0, unknown]
    assert lifetimes(line).loc["openssl", "unaccounted_ns"] == unknown
    shares = effective_share(line).loc["openssl"]
    assert shares["effective_share"] == 1_500 / 4_000
    assert shares["effective_max_share"] == (1_500 + unknown) / 4_000
    assert stolen(line, by="cpu").victims.loc[0, "unknown_max_ns"] == unknown


# A number that is given away again is another task's; its life before is over.
def test_a_number_that_is_used_again(tmp_path: Path) -> None:
    told = [
        h.Waking(0, UDPSINK),
        h.Fork(100, OPENSSL),
        h.Switch(200, OPENSSL, ASLEEP),
        h.Switch(300, MAKE, DEAD),
        h.Fork(600, OPENSSL),
        h.Switch(700, OPENSSL, ASLEEP),
        h.Waking(1_000, UDPSINK),
    ]
    row = lifetimes(timeline(tmp_path, cpu(0, *told, task=MAKE))).loc["openssl"]
    assert row["tasks"] == 2
    assert row["lifetime_max_ns"] == (300 - 100) + (1_000 - 600)
    assert row["absent_ns"] == 2 * 1_000 - 600


# CPU 0  openssl|udpsink
# CPU 1                  (its first event shows openssl) ...     openssl
# 0             100      200                                     1000
# Before its first event CPU 1 is openssl's, and until 100 CPU 0 is as well: it lived once.
def test_one_that_is_on_two_cpus_at_once_lives_once(tmp_path: Path) -> None:
    line = timeline(
        tmp_path,
        cpu(
            0, h.Waking(0, UDPSINK), h.Switch(100, UDPSINK, 0), h.Waking(1_000, MAKE), task=OPENSSL
        ),
        cpu(1, h.Waking(200, MAKE), h.Waking(1_000, MAKE), task=OPENSSL),
    )
    assert stolen(line).victims.loc["openssl", "on_cpu_ns"] == 1_100
    for by in ("comm", "tid"):
        row = lifetimes(line, by).reset_index("comm").query("comm == 'openssl'").iloc[0]
        assert row[["lifetime_ns", "lifetime_max_ns", "absent_ns"]].tolist() == [1_000, 1_000, 0]
        assert row[["own_ns", "unaccounted_ns"]].tolist() == [1_000, 0]
        shares = effective_share(line, by).reset_index("comm").query("comm == 'openssl'").iloc[0]
        assert shares["effective_share"] == shares["effective_max_share"] == 1


def test_what_top_shows_of_a_bundle_written_by_hand(tmp_path: Path) -> None:
    capture = netcost_analysis.open_capture(doctored(tmp_path / "b"))
    assert effective_share(capture.timeline()).loc["openssl", "monitor_share"] == 0.99
    # Of a part of the recording the kernel counted nothing by itself.
    part = effective_share(capture.timeline(0, 0.0005)).loc["openssl"]
    assert part["monitor_share"] == pytest.approx(1.0)


# A bare text without switches: how long anybody was on a CPU nobody knows, nor what top shows.
def test_what_top_shows_has_no_source_where_it_is_not_known(
    netcost: Netcost, tmp_path: Path
) -> None:
    text = tmp_path / "trace.txt"
    text.write_text(
        "sh 7 [000] 1.000001: irq:softirq_entry: vec=3 [action=NET_RX]\n"
        "sh 7 [000] 1.000005: irq:softirq_exit: vec=3 [action=NET_RX]\n"
    )
    (row,) = netcost("ask", "effective_share", str(text), "--json").json
    assert (row["comm"], row["monitor_share"], row["monitor_from"]) == ("sh", None, None)
    # Nor of a CPU, nor where the kernel's configuration is not known.
    line = timeline(tmp_path / "t", cpu(0, *lived(), task=MAKE))
    for by in ("comm", "tid", "cpu"):
        shares = effective_share(line, by=by)
        assert shares["monitor_from"].isna().equals(shares["monitor_share"].isna())
        assert len(shares)
        assert shares["monitor_from"].isna().all()


def test_a_cpu_has_no_life(tmp_path: Path) -> None:
    line = timeline(tmp_path, cpu(0, *lived(), task=MAKE))
    with pytest.raises(ArgumentError, match="no life"):
        lifetimes(line, by="cpu")
    assert pd.isna(effective_share(line, by="cpu").loc[0, "monitor_share"])


# Of its time on CPU an owner can be missing; of its life also what it did off the CPU.
def test_time_without_an_owner_and_a_life_that_is_not_known_have_two_words(
    netcost: Netcost, tmp_path: Path
) -> None:
    lost = [h.Switch(200, OPENSSL, ASLEEP), h.Lost(1_000, 5), h.Switch(2_000, IDLE, ASLEEP)]
    path = recording(cpu(0, *lost, task=MAKE), known=(OPENSSL, MAKE), header=ONE)
    file = str(path.write(tmp_path / "perf.data"))
    out = netcost("stolen", file, "--victim", "openssl").out
    on_cpu, _, life = out.partition("Its lifetime")
    assert re.search(r"^no known owner", on_cpu, re.MULTILINE)
    assert not re.search(r"^unknown", on_cpu, re.MULTILINE)
    assert re.search(r"^unknown  .*ns", life, re.MULTILINE)
    assert "no known owner" not in life
    lines = netcost("stolen", file).out.splitlines()
    (head,) = (line for line in lines if line.startswith("task "))
    assert "no known owner" in head
    assert " unknown" not in head
