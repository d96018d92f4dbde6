# A drawn host of two CPUs on which everything that the ledger tells apart happens, told once in
# full and again with something removed where the recording says so.

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import netcost_analysis as netcost
from support.counted_beside import beside
from support.device_bundles import bundle, net_dev
from support.perfdata import Cpu, Header, Recording, cpu, recording
from support.perfdata import happenings as h
from support.perfdata.tracepoints import ACTIONS
from support.told import KSOFTIRQD, NET_RX, OPENSSL, RCU, TIMER, interrupt

SINK, SOURCE = h.Task(600, "udpsink"), h.Task(700, "udpsource")
ROUNDS, ROUND_NS = 24, 100_000
END = ROUNDS * ROUND_NS
ASLEEP, PREEMPTED = 1, 256
LOOPBACK = 0xFF11000102B15008
KNOWN = (OPENSSL, SINK, SOURCE, KSOFTIRQD)


def _network(at: int, number: int, length: int) -> list[h.Happening]:
    # A device's interrupt and the poll at its exit.
    napi = 0xFF11000102B14008 + number
    line, work = f"eth{number}", 1 + length // 1_000
    return interrupt(at, length, work, line, 32 + number, line, napi, after_ns=300)


def _timer(at: int, vec: int) -> list[h.Happening]:
    return [
        h.VectorEntry(at),
        h.SoftirqRaise(at + 300, vec),
        h.VectorExit(at + 900),
        h.SoftirqEntry(at + 1_000, vec),
        h.SoftirqExit(at + 2_100, vec),
    ]


def _send(at: int) -> list[h.Happening]:
    # Over loopback: its own send raises what then runs in it.
    return [
        h.BhDisable(at),
        h.SoftirqRaise(at + 100, NET_RX),
        h.SoftirqEntry(at + 300, NET_RX),
        h.NapiPoll(at + 2_300, "(no_device)", 1, 64, LOOPBACK),
        h.SoftirqExit(at + 2_500, NET_RX),
        h.BhEnable(at + 2_600),
    ]


# openssl |eth0 irq, NET_RX|timer, TIMER|it sends|udpsink|openssl|ksoftirqd: NET_RX|openssl
# 0       5                 20           35       50      60      70                82
def _victims(at: int, number: int) -> list[h.Happening]:
    length = 3_000 + 700 * (number % 5)
    return [
        *_network(at + 5_000, 0, length),
        *_timer(at + 20_000, TIMER),
        *_send(at + 35_000),
        h.Waking(at + 48_000, SINK),
        h.Wakeup(at + 48_100, SINK),
        h.Switch(at + 50_000, SINK, 0),
        h.Switch(at + 60_000, OPENSSL, ASLEEP),
        h.Waking(at + 68_000, KSOFTIRQD),
        h.Wakeup(at + 68_100, KSOFTIRQD),
        h.Switch(at + 70_000, KSOFTIRQD, 0),
        h.SoftirqEntry(at + 70_500, NET_RX),
        h.NapiPoll(at + 70_500 + length, "eth0", 5, 64),
        h.SoftirqExit(at + 77_000, NET_RX),
        h.Switch(at + 82_000, OPENSSL, ASLEEP),
    ]


# (idle) |eth1 irq, NET_RX|udpsource ... |eth1 irq, NET_RX| ...  |timer, RCU|(idle)
# 0      7                 15             30                45    70         80
def _senders(at: int, number: int) -> list[h.Happening]:
    length = 2_000 + 900 * (number % 4)
    return [
        *_network(at + 7_000, 1, length),
        h.Waking(at + 14_000, SOURCE, 1),
        h.Wakeup(at + 14_100, SOURCE, 1),
        h.Switch(at + 15_000, SOURCE, 0),
        *_network(at + 30_000, 1, length),
        *_send(at + 45_000),
        *_timer(at + 70_000, RCU),
        h.Switch(at + 80_000, h.idle(1), ASLEEP),
    ]


def cpus() -> tuple[Cpu, Cpu]:
    told: tuple[list[h.Happening], list[h.Happening]] = ([], [])
    for number in range(ROUNDS):
        told[0].extend(_victims(number * ROUND_NS, number))
        told[1].extend(_senders(number * ROUND_NS, number))
    # Whatever event is missing, the window is the same.
    ends = [[h.Waking(at, SINK), h.Wakeup(at, SINK)] for at in (0, END)]
    return (
        cpu(0, *ends[0], *told[0], *ends[1], task=OPENSSL),
        cpu(1, *ends[0], *told[1], *ends[1]),
    )


def whole() -> Recording:
    return recording(*cpus(), known=KNOWN)


def opened(folder: Path, told: Recording) -> netcost.Timeline:
    folder.mkdir(parents=True, exist_ok=True)
    return netcost.open_capture(told.write(folder / "perf.data")).timeline()


# The same with what the kernel counted beside it, whatever was recorded of that.
def counted(folder: Path, told: Recording) -> netcost.Timeline:
    softirqs: Counter[tuple[str, int]] = Counter()
    lines: Counter[tuple[str, int]] = Counter()
    packets: Counter[str] = Counter()
    for one in cpus():
        for what in one.happenings:
            if isinstance(what, h.SoftirqEntry):
                softirqs[ACTIONS[what.vec], one.number] += 1
            elif isinstance(what, h.IrqEntry):
                lines[str(what.irq), one.number] += 1
            elif isinstance(what, h.NapiPoll):
                packets[what.device] += what.work
    names = {"32": "PCI-MSI eth0", "33": "PCI-MSI eth1"}
    read = (0, 1_000), (END - 1_000, END)
    none = dict.fromkeys(("eth0", "eth1"), (0, 0, 0, 0))
    all_ = {name: (100 * packets[name], packets[name], 0, 0) for name in none}
    files: dict[str, Any] = {
        **beside(2, softirqs, lines, names=names, read=read),
        "kernel_config": "CONFIG_TICK_CPU_ACCOUNTING=y\nCONFIG_IRQ_TIME_ACCOUNTING=n\n",
        "samples/net_dev": f"@ 1 0 0\n{net_dev(**none)}@ 1 {END} {END}\n{net_dev(**all_)}",
    }
    bundle(folder, files)
    told.write(folder / "trace.perf.data")
    return netcost.open_capture(folder).timeline()


def silently(told: Recording, hidden: Callable[[int, h.Happening], bool]) -> Recording:
    # hidden: of a CPU's happening, whether no event tells of it.
    kept = [
        tuple(h.unrecorded(what) if hidden(one.number, what) else what for what in one.happenings)
        for one in told.cpus
    ]
    pairs = zip(told.cpus, kept, strict=True)
    return replace(told, cpus=tuple(replace(one, happenings=these) for one, these in pairs))


# A ring that was full from one moment to another, and says so.
def lossy(told: Recording, number: int, *spans: tuple[int, int]) -> Recording:
    happened: list[h.Happening] = []
    [own] = [one for one in told.cpus if one.number == number]
    rest, gone = list(spans), 0
    for what in own.happenings:
        while rest and what.at >= rest[0][1]:
            happened.append(h.Lost(rest.pop(0)[1], gone))
            gone = 0
        hit = bool(rest) and rest[0][0] <= what.at
        gone += hit
        happened.append(h.unrecorded(what) if hit else what)
    lost = replace(own, happenings=tuple(happened))
    return replace(told, cpus=tuple(lost if one is own else one for one in told.cpus))


def without_events(told: Recording, *events: str) -> Recording:
    return replace(told, formats=tuple(one for one in told.formats if one.event not in events))


# As in The CPU Cost of Networking on a Host: --filter behind -e. hidden: what the filter's words do
# not let pass.
def filtered(
    told: Recording, events: tuple[str, ...], words: str, hidden: Callable[[h.Happening], bool]
) -> Recording:
    line = ["perf", "record", "-a"]
    for one in told.formats:
        line += ["-e", one.event, *(["--filter", words] if one.event in events else [])]
    kept = silently(told, lambda _, what: hidden(what))
    return replace(kept, header=Header(cmdline=(*line, "sleep", "1")))
