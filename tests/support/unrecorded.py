# Softirqs that only a counter has, in a bundle.

from pathlib import Path
from typing import Any

import netcost_analysis as netcost
from support.counted_beside import beside
from support.device_bundles import bundle
from support.perfdata import Cpu, cpu
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, UDPSINK

COUNT = 20
# Own time of the softirqs of CPU 0 in turn, in ns: the longest is 1.4 us.
LENGTHS = [1_000 + 100 * (number % 5) for number in range(COUNT)]


# From 4 us on a NET_RX every 4 us, from an interrupt. silent: those of which no event tells, like a
# perf that does not see them; the kernel counted them all the same.
def robbed(
    number: int = 0,
    task: h.Task = OPENSSL,
    silent: frozenset[int] = frozenset(),
    vector: int = NET_RX,
) -> Cpu:
    happened: list[h.Happening] = [h.Waking(0, UDPSINK)]
    for place, length in enumerate(LENGTHS):
        at = 4_000 + 4_000 * place
        softirq: list[h.Happening] = [
            h.SoftirqRaise(at + 100, vector),
            h.SoftirqEntry(at + 300, vector),
            h.SoftirqExit(at + 300 + length, vector),
        ]
        if place in silent:
            softirq = [h.unrecorded(one) for one in softirq]
        happened += [h.IrqEntry(at, 32 + number), softirq[0], h.IrqExit(at + 200, 32 + number)]
        happened += softirq[1:]
    return cpu(number, *happened, h.Waking(95_000, UDPSINK), task=task)


COUNTED = {("NET_RX", 0): COUNT, ("NET_RX", 1): COUNT}


def opened(folder: Path, *cpus: Cpu, **counters: Any) -> netcost.Timeline:
    files = beside(2, **({"softirqs": COUNTED} | counters))
    return netcost.open_capture(bundle(folder, files, *cpus).path).timeline()


SILENT = frozenset({3, 4, 9, 13, 19})
