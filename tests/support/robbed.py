# A task that interrupts rob at regular moments, and its recording.

from pathlib import Path

from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, UDPSINK


def robbed(
    number: int = 0, victim: h.Task = OPENSSL, rounds: int = 12, device: str = "eth0"
) -> Cpu:
    told: list[h.Happening] = []
    for start in range(1_000, 1_000 + rounds * 100_000, 100_000):
        told += [
            h.IrqEntry(start, 32, "eth0-rx-0"),
            h.SoftirqRaise(start + 1_000, NET_RX),
            h.IrqExit(start + 2_000, 32),
            h.SoftirqEntry(start + 2_500, NET_RX),
            h.NapiPoll(start + 12_500, device, 8),
            h.NapiPoll(start + 14_500, device, 0),
            h.SoftirqExit(start + 15_000, NET_RX),
            h.Waking(start + 60_000, UDPSINK),
        ]
    return cpu(number, *told, task=victim)


def written(folder: Path, *cpus: Cpu, **settings: object) -> Path:
    known = tuple(one.first_task for one in cpus)
    return recording(*cpus, known=known, **settings).write(folder / "perf.data")
