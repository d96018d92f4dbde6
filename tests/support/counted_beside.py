# Counters beside a described recording, as netcost-record leaves them: what /proc said before and
# after, and when each file was read.

import re
from pathlib import Path
from typing import Any

import pandas as pd

import netcost_analysis as netcost
from support.device_bundles import bundle
from support.perfdata import Cpu, cpu
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, UDPSINK

# When each file was read, in ns: all of them at once, which no host does and no test minds.
BEFORE, AFTER = (1_000, 2_000), (90_000, 91_000)
_SOFTIRQS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "RCU")
_FILES = ("softirqs", "interrupts", "net_softnet_stat", "stat")


def beside(
    cpus: int,
    softirqs: dict[tuple[str, int], int] | None = None,
    interrupts: dict[tuple[str, int], int] | None = None,
    packets: dict[int, int] | None = None,
    switches: int | None = None,
    names: dict[str, str] | None = None,
    read: tuple[tuple[int, int], tuple[int, int]] = (BEFORE, AFTER),
) -> dict[str, Any]:
    # Files by name. softirqs, interrupts, packets: growth by (counter and) CPU; None for a file
    # that is not there. names: what stands behind an interrupt line's counts.
    files: dict[str, Any] = {}
    for side, at, share in (("before", read[0], 0), ("after", read[1], 1)):
        texts = {
            "softirqs": softirqs and _by_cpu(cpus, softirqs, share, dict.fromkeys(_SOFTIRQS, "")),
            "interrupts": interrupts and _by_cpu(cpus, interrupts, share, names or {}),
            "net_softnet_stat": packets and _softnet(cpus, packets, share),
            "stat": _stat(cpus, switches, share),
        }
        stamp = [f"{name} {at[0]} {at[1]}\n" for name in _FILES if texts[name]]
        files |= {f"{side}/{name}": text for name, text in texts.items() if text}
        files[f"{side}/stamp"] = f"monotonic_ns {at[0]}\n{''.join(stamp)}"
    return files


def _by_cpu(
    cpus: int, growth: dict[tuple[str, int], int], share: int, names: dict[str, str]
) -> str:
    # Since boot there were 1,000 of each.
    lines = ["".join(f"{f'CPU{number}':>11}" for number in range(cpus))]
    for line in dict.fromkeys([*names, *(line for line, _ in growth)]):
        counts = [1_000 + share * growth.get((line, number), 0) for number in range(cpus)]
        shown = "".join(f"{count:>11}" for count in counts)
        lines.append(f"{line + ':':>12}{shown}  {names.get(line, '')}".rstrip())
    return "\n".join(lines) + "\n"


def _softnet(cpus: int, packets: dict[int, int], share: int) -> str:
    lines = []
    for number in range(cpus):
        columns = [1_000 + share * packets.get(number, 0), *[0] * 11, number]
        lines.append(" ".join(f"{column:08x}" for column in columns))
    return "\n".join(lines) + "\n"


def _stat(cpus: int, switches: int | None, share: int) -> str:
    lines = [f"cpu{number} {' '.join(['100'] * 10)}" for number in range(cpus)]
    lines += [] if switches is None else [f"ctxt {1_000 + share * switches}"]
    return "\n".join(["cpu  100 100 100 100 100 100 100 100 100 100", *lines]) + "\n"


# Softirqs that only a counter has, in a bundle.
COUNT = 20
# Own time of the softirqs of CPU 0 in turn, in ns: the longest is 1.4 us.
LENGTHS = [1_000 + 100 * (number % 5) for number in range(COUNT)]


# From 4 us on a NET_RX every 4 us, from an interrupt. silent: those of which no event tells, like a
# perf that does not see them; the kernel counted them all the same.
def robbed(number: int = 0, task: h.Task = OPENSSL, silent: frozenset[int] = frozenset()) -> Cpu:
    happened: list[h.Happening] = [h.Waking(0, UDPSINK)]
    for place, length in enumerate(LENGTHS):
        at = 4_000 + 4_000 * place
        softirq: list[h.Happening] = [
            h.SoftirqRaise(at + 100, NET_RX),
            h.SoftirqEntry(at + 300, NET_RX),
            h.SoftirqExit(at + 300 + length, NET_RX),
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


# One counter's row of what a recording missed.
def row(found: Any, counter: str, number: int | None = None) -> "pd.Series[Any]":
    rows = found.rows[found.rows["counter"] == counter]
    rows = rows[rows["cpu"].isna() if number is None else rows["cpu"] == number]
    assert len(rows) == 1
    return rows.iloc[0]


# What the verdict's line names as missing: percent, counter and CPU of each.
def named(verdict: str) -> list[tuple[str, str, str]]:
    return re.findall(r"([\d.]+) % of (?:interrupt )?(\w+)(?: on CPU (\d+))?", verdict)
