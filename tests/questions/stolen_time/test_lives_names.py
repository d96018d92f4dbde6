# Under which name a task lived and waited, where it executes a program: told as texts, for a text
# has the name of a task with each of its events. Times are from 1000 ns on.

from dataclasses import replace
from pathlib import Path

import pytest

import netcost_analysis
from netcost_analysis import arrow
from netcost_analysis.timeline.group import aggregates
from netcost_analysis.timeline.lives import LIVES
from support.asked import handovers, lifetimes, run_queue, stolen, waited_for

PEER = "comm=x pid=9 prio=120"


def told(comm: str, tid: int, at: int, event: str, text: str) -> str:
    return f"{comm} {tid} [000] 0.{at + 1_000:09d}: sched:{event}: {text}\n"


def forked(at: int) -> list[str]:
    words = "comm=make pid=700 child_comm=sh child_pid=5"
    return [
        told("make", 700, at, "sched_process_fork", words),
        told("make", 700, at, "sched_wakeup_new", "comm=sh pid=5 prio=120 target_cpu=000"),
    ]


def to_sh(at: int, state: str = "R", name: str = "sh") -> str:
    return _switch(at, "make 700", state, f"{name} 5")


def to_make(at: int, name: str, state: str = "R") -> str:
    return _switch(at, f"{name} 5", state, "make 700")


def _switch(at: int, before: str, state: str, after: str) -> str:
    comm, tid = before.split()
    to, to_tid = after.split()
    text = (
        f"prev_comm={comm} prev_pid={tid} prev_prio=120 prev_state={state} ==> "
        f"next_comm={to} next_pid={to_tid} next_prio=120"
    )
    return told(comm, int(tid), at, "sched_switch", text)


def nothing(at: int) -> str:
    return told("make", 700, at, "sched_waking", f"{PEER} target_cpu=000")


def of_text(folder: Path, *lines: str) -> netcost_analysis.Timeline:
    (folder / "trace.txt").write_text("".join(lines))
    return netcost_analysis.open_capture(folder / "trace.txt").timeline()


# make |fork| sh | make (it waits) | sh, executes cat | make (it waits) | cat   exits | make
# 0    100  200  300              1300                1310             1400          1500    2000
def executing(folder: Path) -> netcost_analysis.Timeline:
    return of_text(
        folder,
        nothing(0),
        *forked(100),
        to_sh(200),
        to_make(300, "sh"),
        to_sh(1_300),
        told("sh", 5, 1_304, "sched_process_exec", "filename=/bin/cat pid=5 old_pid=5"),
        to_make(1_310, "cat"),
        to_sh(1_400, name="cat"),
        told("cat", 5, 1_490, "sched_process_exit", "comm=cat pid=5 prio=120"),
        to_make(1_500, "cat", "X"),
        told("make", 700, 1_900, "sched_migrate_task", f"{PEER} orig_cpu=0 dest_cpu=1"),
        nothing(2_000),
    )


# A wait is of the name under which it began: no share of a life is above 1.
def test_who_executes_a_program_waited_under_the_name_before(tmp_path: Path) -> None:
    line = executing(tmp_path)
    waits = waited_for(line).groupby("comm")[["ns", "lifetime_share"]].sum()
    lived = lifetimes(line)
    assert waits["ns"].loc[["sh", "cat"]].tolist() == [100 + 1_000, 90]
    assert (waits["lifetime_share"] <= 1).all()
    waited = lived["displaced_ns"] + lived["waited_others_ns"]
    assert waited.loc[["sh", "cat"]].tolist() == [1_100, 90]
    for by in ("comm", "tid"):
        queue = run_queue(line, by)
        summed = queue.groupby("comm")[["ns", "wait_share"]].sum()
        assert summed["ns"].loc[["sh", "cat"]].tolist() == [1_100, 90]
        assert (summed["wait_share"] <= 1).all()
    # Of a part of the recording too: the name that it was born with is not that of its later stays.
    part = lifetimes(line.capture.timeline(1_350e-9, 2_000e-9))
    assert "sh" not in part.index
    assert part.loc["cat", "lifetime_ns"] == 150


# make |fork| sh |make   (wake-up lost)     (its stay lost)   wake-up|make| cat or sh  exits|make
# 0    100  200  300   400     LOST 500   900     LOST 1000     1300     1400            1500
# It was asleep until the loss and after it, and what it did from one to the other nobody knows. If
# it has another name then, that may be its name since the first loss, or since the last.
@pytest.mark.parametrize("name", ["cat", "sh"])
def test_a_wake_up_and_a_stay_that_were_lost(tmp_path: Path, name: str) -> None:
    line = of_text(
        tmp_path,
        nothing(0),
        *forked(100),
        to_sh(200),
        to_make(300, "sh", "S"),
        nothing(400),
        "CPU:0 [LOST 1 EVENTS]\n",
        nothing(500),
        nothing(900),
        "CPU:0 [LOST 2 EVENTS]\n",
        nothing(1_000),
        told("make", 700, 1_300, "sched_wakeup", f"comm={name} pid=5 prio=120 target_cpu=000"),
        to_sh(1_400, name=name),
        told(name, 5, 1_490, "sched_process_exit", f"comm={name} pid=5 prio=120"),
        to_make(1_500, name, "X"),
        nothing(2_000),
    )
    columns = ["lifetime_ns", "lifetime_max_ns", "asleep_ns", "waited_others_ns", "unaccounted_ns"]
    found = lifetimes(line, "tid").loc[5][columns]
    if name == "sh":
        assert found.loc["sh"].tolist() == [1_400, 1_400, 100 + 300, 100 + 100, 600]
        return
    assert found.loc["sh"].tolist() == [300, 900, 100, 100, 600]
    assert found.loc["cat"].tolist() == [500, 1_100, 300, 100, 600]


# make |fork| sh | make |(2 lost) LOST| make
# 0    100  200  300    400         500    2000, and the bundle says that its victim ended at 600
def test_who_ended_unseen_may_have_had_another_name(tmp_path: Path) -> None:
    ends = [to_make(300, "sh", "S"), nothing(400), "CPU:0 [LOST 2 EVENTS]\n", nothing(500)]
    line = of_text(tmp_path, nothing(0), *forked(100), to_sh(200), *ends, nothing(2_000))
    facts = replace(LIVES.of(line), of_bundle=(5, 1_100, 1_600))
    (tables,) = aggregates(line, [facts])
    found = arrow.columns(tables["lives"])
    place = found["comm"].index("sh")
    assert [found[name][place] for name in ("lifetime_ns", "lifetime_max_ns")] == [300, 500]


# Tasks of any name may have lived within a loss; a task's own number says when it did not.
def test_a_name_may_have_been_there_unseen(tmp_path: Path) -> None:
    line = of_text(
        tmp_path,
        nothing(0),
        *forked(100),
        to_sh(200),
        told("sh", 5, 290, "sched_process_exit", "comm=sh pid=5 prio=120"),
        to_make(300, "sh", "X"),
        nothing(400),
        "CPU:0 [LOST 9 EVENTS]\n",
        nothing(900),
        nothing(2_000),
    )
    unknown = stolen(line).victims.loc["sh", "unknown_max_ns"]
    assert unknown == int(line.sums().query("context == 'unknown'")["ns"].sum()) > 0
    assert stolen(line, "tid").victims.loc[(5, "sh"), "unknown_max_ns"] == 0


# make |(fork and first stay of 5 lost) LOST|make wake-up|make| sh, executes cat, exits |make
# 0    100                              500       1300    1400    1450              1500 2000
# What it was called as it was woken its last name does not say: the wait may be either's.
def test_a_stay_of_two_names_after_a_loss(tmp_path: Path) -> None:
    line = of_text(
        tmp_path,
        nothing(0),
        nothing(100),
        "CPU:0 [LOST 5 EVENTS]\n",
        nothing(500),
        told("make", 700, 1_300, "sched_wakeup", "comm=sh pid=5 prio=120 target_cpu=000"),
        to_sh(1_400),
        told("sh", 5, 1_440, "sched_waking", f"{PEER} target_cpu=000"),
        told("cat", 5, 1_450, "sched_waking", f"{PEER} target_cpu=000"),
        to_make(1_500, "cat", "X"),
        nothing(2_000),
    )
    found = lifetimes(line, "tid").loc[5]
    assert found["waited_others_ns"].tolist() == found["asleep_ns"].tolist() == [0, 0]
    assert found["lifetime_ns"].sum() == 100
    # As sh it may have been there from the start on, and waited for 100.
    assert found.loc["sh", "lifetime_max_ns"] == 1_500 - found.loc["cat", "lifetime_ns"]
    assert found.loc["sh", "unaccounted_ns"] >= 800 + 100
    assert (found["lifetime_max_ns"] <= 1_500).all()


# sh |ksoftirqd/0: NET_RX   |sh, executes cat|make
# 200 300     310..900       1300             1310
def test_who_executes_a_program_was_displaced_under_the_name_before(tmp_path: Path) -> None:
    thread = ("ksoftirqd/0", 15)
    at = "{0} {1} [000] 0.{2:09d}: {3}\n".format
    line = of_text(
        tmp_path,
        nothing(0),
        *forked(100),
        to_sh(200),
        told("sh", 5, 250, "sched_wakeup", "comm=ksoftirqd/0 pid=15 prio=120 target_cpu=000"),
        _switch(300, "sh 5", "R", "ksoftirqd/0 15"),
        at(*thread, 1_310, "irq:softirq_entry: vec=3 [action=NET_RX]"),
        at(
            *thread,
            1_890,
            "napi:napi_poll: napi poll on napi struct 0xff01 for device eth0 work 3 budget 64",
        ),
        at(*thread, 1_900, "irq:softirq_exit: vec=3 [action=NET_RX]"),
        _switch(1_300, "ksoftirqd/0 15", "S", "sh 5"),
        to_make(1_310, "cat"),
        nothing(2_000),
    )
    lost = stolen(line).victims["displaced_ns"]
    lost = lost[lost > 0].to_dict()
    assert sorted(lost) == ["make", "sh"]
    found = handovers(line).displaced.set_index("comm")["ns"]
    assert found.to_dict() == lost
