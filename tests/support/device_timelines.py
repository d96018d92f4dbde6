# Interrupts and polls of a device, a disk and the backlog, drawn.

from typing import Any

import pandas as pd

from support.perfdata import Cpu, cpu
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, UDPSINK


# CPU 0, openssl:  100 irq 32 110 111      140     150  155     200 irq 40 230          400
#                      [hardirq]   [eth0 poll 4|poll 2|NET_RX]       [hardirq]
# CPU 1, udpsink:  300                340  345                                          400
#                     [(no_device) poll 5|NET_RX]
def drawn() -> tuple[Cpu, Cpu]:
    first = cpu(
        0,
        h.IrqEntry(100, 32, "virtio0-input.0"),
        h.SoftirqRaise(105, NET_RX),
        h.IrqExit(110, 32),
        h.SoftirqEntry(111, NET_RX),
        h.NapiPoll(140, "eth0", 4),
        h.NapiPoll(150, "eth0", 2),
        h.SoftirqExit(155, NET_RX),
        h.IrqEntry(200, 40, "nvme0q1"),
        h.IrqExit(230, 40),
        h.Waking(400, UDPSINK),
        task=OPENSSL,
    )
    second = cpu(
        1,
        h.SoftirqRaise(290, NET_RX),
        h.SoftirqEntry(300, NET_RX),
        h.NapiPoll(340, "(no_device)", 5),
        h.SoftirqExit(345, NET_RX),
        h.Waking(400, OPENSSL),
        task=UDPSINK,
    )
    return first, second


def rows_of(frame: pd.DataFrame) -> dict[tuple[str, int], dict[str, Any]]:
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return {(row["thief"], row["cpu"]): row for row in rows}
