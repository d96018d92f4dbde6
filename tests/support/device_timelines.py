# Interrupts and polls of a device, a disk and the backlog, drawn.

from typing import Any

import pandas as pd

from support.interrupt_pairs import irq, raised, softirq
from support.perfdata import Cpu, cpu
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, UDPSINK


# CPU 0, openssl:  100 irq 32 110 111      140     150  155     200 irq 40 230          400
#                      [hardirq]   [eth0 poll 4|poll 2|NET_RX]       [hardirq]
# CPU 1, udpsink:  300                340  345                                          400
#                     [(no_device) poll 5|NET_RX]
def drawn() -> tuple[Cpu, Cpu]:
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
