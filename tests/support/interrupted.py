# A task with two interrupts on top of it, drawn.

from support.perfdata import Cpu, cpu
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, UDPSINK


# openssl |irq 32 10..30, NET_RX eth0 40..90|          |irq 33 230..250|     | udpsink | openssl
#         0                                 100       200               300  300..340  340    400
def told(first: int = 0) -> Cpu:
    return cpu(
        0,
        h.Waking(first, UDPSINK),
        h.IrqEntry(10, 32),
        h.SoftirqRaise(20, NET_RX),
        h.IrqExit(30, 32),
        h.SoftirqEntry(40, NET_RX),
        h.NapiPoll(80, "eth0", 3),
        h.SoftirqExit(90, NET_RX),
        h.IrqEntry(230, 33, "disk"),
        h.IrqExit(250, 33),
        h.Switch(300, UDPSINK, 0),
        h.Switch(340, OPENSSL, 1),
        h.Waking(400, UDPSINK),
        task=OPENSSL,
    )
