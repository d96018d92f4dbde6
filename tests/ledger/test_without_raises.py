# Recordings without softirq_raise: common_preempt_count at softirq_entry tells where a softirq
# comes from, once sched_switch of the same recording has shown how the recorder counts.

from pathlib import Path

import pytest

from support.native_tables import Answer, assert_conserved
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.retold import without_events
from support.told import IDLE, NET_RX, OPENSSL

RAISE, SWITCH = "irq:softirq_raise", "sched:sched_switch"


def net_rx(at: int) -> tuple[h.Happening, ...]:
    poll = h.NapiPoll(at + 40, "eth0", 1)
    return h.SoftirqEntry(at, NET_RX), poll, h.SoftirqExit(at + 50, NET_RX)


# openssl |irq, NET_RX at its exit |sends: NET_RX at local_bh_enable |irq while it sends |idle |irq
STORY = (
    h.Switch(10, OPENSSL),
    *(h.IrqEntry(100, 25), h.IrqExit(110, 25), *net_rx(120)),
    *(h.BhDisable(200), *net_rx(210), h.BhEnable(270)),
    h.Switch(400, IDLE),
    *(h.IrqEntry(500, 25), h.IrqExit(510, 25), *net_rx(520)),
)


@pytest.mark.parametrize("preemption", ["perf", "ftrace", "none"])
def test_the_depth_of_preemption_tells_the_origin(preemption: str, tmp_path: Path) -> None:
    told = recording(cpu(0, *STORY, task=IDLE), preemption=preemption)
    got = Answer(without_events(told, RAISE).write(tmp_path / "a"))
    assert_conserved(got)
    rows = [(row["origin"], row["cost_class"]) for row in got.softirqs]
    assert rows == [
        ("irq", "stolen"),
        ("unknown", "stolen_or_synchronous"),
        ("irq", "from_idle"),
    ]


@pytest.mark.parametrize("preemption", ["perf", "ftrace", "none"])
def test_without_switches_it_is_a_range(preemption: str, tmp_path: Path) -> None:
    told = recording(cpu(0, *STORY, task=OPENSSL), preemption=preemption)
    got = Answer(without_events(told, RAISE, SWITCH).write(tmp_path / "a"))
    assert {row["origin"] for row in got.softirqs} == {"unknown"}
