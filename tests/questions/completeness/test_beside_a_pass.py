# What is counted and gathered beside the ledger's pass is what a pass of its own finds.

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from netcost_analysis._native import Capture
from netcost_analysis.arrow import columns
from support.host import ROOT
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.told import NET_RX

if TYPE_CHECKING:
    from netcost_analysis._native import Count, TaskEvent

SAMPLE = ROOT / "sample-data" / "nic-stolen-time"
ALWAYS = (-(2**63), 2**63 - 1)


def told(path: str, counts: "list[Count]", tasks: "list[TaskEvent]") -> tuple[object, object]:
    beside = Capture(path).timeline(["displaced"], counts=counts, task_events=tasks)
    alone = Capture(path)
    assert beside["counts"] == (alone.counts(counts) if counts else None)
    found = beside["task_events"] or []
    assert [one and columns(one) for one in found] == [
        one and columns(one) for one in alone.task_events(tasks)
    ]
    return beside["counts"], [one and columns(one) for one in found]


def test_a_sample() -> None:
    trace = next(one for one in SAMPLE.iterdir() if one.name.startswith("trace"))
    softirqs: Count = (("irq:softirq_entry",), "vec", None, (ALWAYS,))
    last: TaskEvent = ("sched:sched_wakeup", "pid", None, "target_cpu", ALWAYS[1])
    every: TaskEvent = ("sched:sched_process_fork", "child_pid", "child_comm", None, None)
    counts, tasks = told(str(trace), [softirqs], [last, every, ("a:b", "pid", None, None, None)])
    assert counts
    assert isinstance(tasks, list)
    assert tasks[2] is None


def test_the_last_wake_up_of_each_task_until_a_time(tmp_path: Path) -> None:
    one, two = h.Task(7, "one"), h.Task(8, "two")
    waking = (h.Waking(100, one, 0), h.Waking(200, two, 0), h.Waking(300, one, 0))
    made = recording(cpu(0, *waking, h.Waking(400, one, 1), h.Waking(500, one, 0), task=two))
    path = str(made.write(tmp_path / "perf.data"))
    _, [found] = told(path, [], [("sched:sched_waking", "pid", None, "target_cpu", 450)])
    assert found == {"time_ns": [200, 300, 400], "tid": [8, 7, 7], "cpu": [0, 0, 1]}


def test_what_cannot_be_counted_ends_no_ledger(tmp_path: Path) -> None:
    made = recording(cpu(0, h.SoftirqEntry(100, NET_RX), h.SoftirqExit(200, NET_RX)))
    path = str(made.write(tmp_path / "perf.data"))
    unknown: list[Count] = [(("no:event",), None, None, (ALWAYS,))]
    assert Capture(path).timeline([], counts=unknown)["counts"] is None
    with pytest.raises(Exception, match="no:event"):
        Capture(path).counts(unknown)
