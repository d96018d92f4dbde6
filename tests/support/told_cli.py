# The capture that the command line's tests ask about: a task, an interrupt on top of it with its
# softirq and poll, a timer's softirq, another task for a while.

from pathlib import Path

from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, TIMER, UDPSINK

INTERRUPT = (
    h.IrqEntry(1_000, 32),
    h.SoftirqRaise(1_200, NET_RX),
    h.IrqExit(2_000, 32),
    h.SoftirqEntry(3_000, NET_RX),
    h.NapiPoll(7_000, "eth0", 8),
    h.SoftirqExit(8_000, NET_RX),
)


def one_interrupt(folder: Path) -> str:
    told = recording(
        cpu(
            0,
            *INTERRUPT,
            h.SoftirqRaise(9_000, TIMER),
            h.SoftirqEntry(9_500, TIMER),
            h.SoftirqExit(10_000, TIMER),
            h.Waking(19_000, UDPSINK),
            h.Switch(20_000, UDPSINK),
            h.Switch(30_000, OPENSSL),
            task=OPENSSL,
        )
    )
    return str(told.write(folder / "perf.data"))
