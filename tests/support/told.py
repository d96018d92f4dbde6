# The cast of the drawn timelines, what several tests draw, and short ways from there to answers.

from pathlib import Path
from typing import Any

import pandas as pd

import netcost_analysis as netcost
from support.native_tables import Answer, assert_conserved
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h

OPENSSL = h.Task(500, "openssl")
UDPSINK = h.Task(600, "udpsink")
KSOFTIRQD = h.Task(20, "ksoftirqd/0")
NAPI_THREAD = h.Task(30, "napi/eth0-8193")
IRQ_THREAD = h.Task(150, "irq/32-virtio2-", prio=49)
KTIMERS = h.Task(17, "ktimers/0", prio=98)
IDLE = h.idle(0)
TIMER, NET_TX, NET_RX, SCHED, RCU = 1, 2, 3, 7, 9


# A device's interrupt, and at its exit the softirq with its poll.
def interrupt(
    at: int,
    poll_ns: int,
    work: int = 1,
    device: str = "eth0",
    irq: int = 32,
    line: str = "eth0-rx",
    napi: int = h.NapiPoll(0).napi,
    irq_ns: int = 1_000,
    wait_ns: int = 200,
    after_ns: int = 100,
) -> list[h.Happening]:
    entry = at + irq_ns + wait_ns
    poll = h.NapiPoll(entry + poll_ns, device, work, 64, napi)
    return [
        *(h.IrqEntry(at, irq, line), h.SoftirqRaise(at + 500, NET_RX), h.IrqExit(at + irq_ns, irq)),
        *softirq(entry, entry + poll_ns + after_ns, poll),
    ]


# Every drawn timeline must conserve, whatever else its test is about.
def answer(path: Path, *cpus: Cpu, **settings: Any) -> Answer:
    result = Answer(recording(*cpus, **settings).write(path / "perf.data"))
    assert_conserved(result)
    return result


# Opened as a user does.
def timeline(path: Path, *cpus: Cpu, **settings: object) -> netcost.Timeline:
    tasks = (OPENSSL, UDPSINK, KSOFTIRQD)
    file = recording(*cpus, known=tasks, **settings).write(path / "perf.data")
    return netcost.open_capture(file).timeline()


# What comes in pairs: interrupts and softirqs, with what happens inside of them.
Happenings = tuple[h.Happening, ...]


def irq(
    begin: int, end: int, *inside: h.Happening, line: int = 32, name: str = "eth0"
) -> Happenings:
    return (h.IrqEntry(begin, line, name), *inside, h.IrqExit(end, line))


def softirq(begin: int, end: int, *inside: h.Happening, vec: int = NET_RX) -> Happenings:
    return (h.SoftirqEntry(begin, vec), *inside, h.SoftirqExit(end, vec))


def raised(at: int, begin: int, end: int, *inside: h.Happening, vec: int = NET_RX) -> Happenings:
    # A softirq that was raised at that time, by whoever ran.
    return (h.SoftirqRaise(at, vec), *softirq(begin, end, *inside, vec=vec))


def drawn(
    path: Path, *happenings: h.Happening, until_ns: int = 900_000, **settings: object
) -> netcost.Timeline:
    one = cpu(0, *happenings, h.Waking(until_ns, UDPSINK), task=OPENSSL)
    return timeline(path, one, **settings)


# A softirq that an interrupt raised.
# openssl |irq 32: raise at 1_050|      |NET_RX: poll eth0 4, irq 33 inside, poll eth1 0|
#         1_000             1_100       1_200        1_500 1_600    2_000   2_300  2_400
POLLS = h.NapiPoll(2_000, "eth0", 4), h.NapiPoll(2_300, "eth1", 0)
CHAIN = (
    *irq(1_000, 1_100, h.SoftirqRaise(1_050, NET_RX), name="eth0-rx-0"),
    *softirq(1_200, 2_400, *irq(1_500, 1_600, line=33, name="ahci"), *POLLS),
)


# A task with two interrupts on top of it.
# openssl |irq 32 10..30, NET_RX eth0 40..90|          |irq 33 230..250|     | udpsink | openssl
#         0                                 100       200               300  300..340  340    400
def interrupted(first: int = 0) -> Cpu:
    return cpu(
        0,
        h.Waking(first, UDPSINK),
        *irq(10, 30, h.SoftirqRaise(20, NET_RX)),
        *softirq(40, 90, h.NapiPoll(80, "eth0", 3)),
        *irq(230, 250, line=33, name="disk"),
        h.Switch(300, UDPSINK, 0),
        h.Switch(340, OPENSSL, 1),
        h.Waking(400, UDPSINK),
        task=OPENSSL,
    )


# Interrupts and polls of a device, a disk and the backlog.
# CPU 0, openssl:  100 irq 32 110 111      140     150  155     200 irq 40 230          400
#                      [hardirq]   [eth0 poll 4|poll 2|NET_RX]       [hardirq]
# CPU 1, udpsink:  300                340  345                                          400
#                     [(no_device) poll 5|NET_RX]
def device_cpus() -> tuple[Cpu, Cpu]:
    polls = h.NapiPoll(140, "eth0", 4), h.NapiPoll(150, "eth0", 2)
    interrupt = irq(100, 110, h.SoftirqRaise(105, NET_RX), name="virtio0-input.0")
    disk = irq(200, 230, line=40, name="nvme0q1")
    story = *interrupt, *softirq(111, 155, *polls), *disk, h.Waking(400, UDPSINK)
    backlog = raised(290, 300, 345, h.NapiPoll(340, "(no_device)", 5))
    first = cpu(0, *story, task=OPENSSL)
    second = cpu(1, *backlog, h.Waking(400, OPENSSL), task=UDPSINK)
    return first, second


def rows_of(frame: pd.DataFrame) -> dict[tuple[str, int], dict[str, Any]]:
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return {(row["thief"], row["cpu"]): row for row in rows}


# A task that interrupts rob at regular moments.
def robbed(
    number: int = 0, victim: h.Task = OPENSSL, rounds: int = 12, device: str = "eth0"
) -> Cpu:
    told: list[h.Happening] = []
    for start in range(1_000, 1_000 + rounds * 100_000, 100_000):
        polls = h.NapiPoll(start + 12_500, device, 8), h.NapiPoll(start + 14_500, device, 0)
        told += irq(start, start + 2_000, h.SoftirqRaise(start + 1_000, NET_RX), name="eth0-rx-0")
        told += softirq(start + 2_500, start + 15_000, *polls)
        told.append(h.Waking(start + 60_000, UDPSINK))
    return cpu(number, *told, task=victim)


def written(folder: Path, *cpus: Cpu, **settings: object) -> Path:
    known = tuple(one.first_task for one in cpus)
    return recording(*cpus, known=known, **settings).write(folder / "perf.data")
