# Softirqs that interrupts raised, drawn: a chain of one, and whole recordings of some.

from pathlib import Path

import netcost_analysis as netcost
from support.interrupt_pairs import irq, softirq
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
POLLS = h.NapiPoll(2_000, "eth0", 4), h.NapiPoll(2_300, "eth1", 0)
CHAIN = (
    *irq(1_000, 1_100, h.SoftirqRaise(1_050, NET_RX), name="eth0-rx-0"),
    *softirq(1_200, 2_400, *irq(1_500, 1_600, line=33, name="ahci"), *POLLS),
)
