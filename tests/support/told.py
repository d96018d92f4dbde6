# The cast of the drawn timelines, and the shortcut from drawing to answer.

from pathlib import Path
from typing import Any

from support.native_tables import Answer, assert_conserved
from support.perfdata import Cpu, recording
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
    return [
        h.IrqEntry(at, irq, line),
        h.SoftirqRaise(at + 500, NET_RX),
        h.IrqExit(at + irq_ns, irq),
        h.SoftirqEntry(entry, NET_RX),
        h.NapiPoll(entry + poll_ns, device, work, 64, napi),
        h.SoftirqExit(entry + poll_ns + after_ns, NET_RX),
    ]


# Every drawn timeline must conserve, whatever else its test is about.
def answer(path: Path, *cpus: Cpu, **settings: Any) -> Answer:
    result = Answer(recording(*cpus, **settings).write(path / "perf.data"))
    assert_conserved(result)
    return result
