# Softirqs that interrupts raised, drawn: a chain of one, and whole recordings of some.

from pathlib import Path

import netcost_analysis as netcost
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.timelines import timeline
from support.told import NET_RX, OPENSSL, UDPSINK


def drawn(
    path: Path, *happenings: h.Happening, until_ns: int = 900_000, **settings: object
) -> netcost.Timeline:
    one = cpu(0, *happenings, h.Waking(until_ns, UDPSINK), task=OPENSSL)
    return timeline(path, one, **settings)


# openssl |irq 32: raise at 1_050|      |NET_RX: poll eth0 4, irq 33 inside, poll eth1 0|
#         1_000             1_100       1_200        1_500 1_600    2_000   2_300  2_400
CHAIN = (
    h.IrqEntry(1_000, 32, "eth0-rx-0"),
    h.SoftirqRaise(1_050, NET_RX),
    h.IrqExit(1_100, 32),
    h.SoftirqEntry(1_200, NET_RX),
    h.IrqEntry(1_500, 33, "ahci"),
    h.IrqExit(1_600, 33),
    h.NapiPoll(2_000, "eth0", 4),
    h.NapiPoll(2_300, "eth1", 0),
    h.SoftirqExit(2_400, NET_RX),
)
