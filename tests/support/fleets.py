# Small captures of a fleet's hosts, told from their polls: each a bundle with its host's name, its
# kernel, its device's driver and the time of its recording.

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from netcost_analysis.fleet import TABLES, Dataset, table_of
from netcost_analysis.gathering.gather import gather_fleet
from support.host import write_files
from support.perfdata import Header, cpu, recording
from support.perfdata import happenings as h
from support.told import OPENSSL, interrupt

FIRST = datetime(2026, 3, 1, 12, tzinfo=UTC)
START_NS = 1_000_000


@dataclass(frozen=True)
class Told:
    # A capture. day: of its recording. batch, fixed_ns, packet_ns: packets of a poll, what it takes
    # besides them, and each of them. irq_ns: the handler's. rounds: polls, one every period_ns.
    host: str = "web1"
    kernel: str = "6.1.0"
    driver: str = "ixgbe"
    day: int = 0
    batch: int = 4
    fixed_ns: int = 3_000
    packet_ns: int = 1_500
    irq_ns: int = 1_000
    scatter: float = 0.05
    rounds: int = 60
    period_ns: int = 50_000
    # Of all its polls: what makes one capture unlike the next.
    around: float = 1.0

    @property
    def name(self) -> str:
        said = hashlib.sha256(repr(self).encode()).hexdigest()[:6]
        safe = "".join(one for one in self.host if one.isalnum()) or "host"
        return f"{safe}-{self.day:03d}-{said}"

    @property
    def recorded_at(self) -> datetime:
        return FIRST + timedelta(days=self.day)

    def write(self, folder: Path) -> Path:
        bundle = folder / self.name
        bundle.mkdir(parents=True)
        draw = np.random.default_rng(int(hashlib.sha256(self.name.encode()).hexdigest()[:8], 16))
        poll_ns = self.around * (self.fixed_ns + self.packet_ns * self.batch)
        polls = poll_ns * np.exp(draw.normal(0, self.scatter, self.rounds))
        told: list[h.Happening] = []
        for number, poll in enumerate(polls.astype(int).tolist()):
            at = START_NS + number * self.period_ns
            told += interrupt(at, poll, self.batch, irq_ns=self.irq_ns)
        told.append(h.SoftirqRaise(START_NS + self.rounds * self.period_ns, 9))
        header = Header(hostname=self.host, os_release=self.kernel)
        recording(cpu(0, *told, task=OPENSSL), known=(OPENSSL,), header=header).write(
            bundle / "perf.data"
        )
        files = {
            "before/stamp": f"realtime_ns {int(self.recorded_at.timestamp() * 1e9)}\n",
            "before/net_dev": f"a\nb\n  eth0: {' '.join(['0'] * 16)}\n",
            "before/settings/ethtool/eth0/driver": f"driver: {self.driver}\n",
            "manifest.json": json.dumps({"netcost_bundle": 1, "trace": "perf.data"}),
        }
        return write_files(bundle, files)


def captures(folder: Path, told: Iterable[Told]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    return [one.write(folder) for one in told]


# Of a few hosts, so many days each, no two alike.
def some(hosts: int = 2, days: int = 3, **more: Any) -> list[Told]:
    draw = np.random.default_rng(7)
    base = Told(**more)
    return [
        replace(base, host=f"web{host}", day=day, around=float(np.exp(draw.normal(0, 0.03))))
        for day in range(days)
        for host in range(1, hosts + 1)
    ]


# All that a run writes, but when it was written and how long that took.
def content(folder: Path) -> dict[str, pd.DataFrame]:
    tables = {name: table_of(Dataset(folder).scan(), name).to_pandas() for name in TABLES}
    tables["captures"] = tables["captures"].drop(columns=["answered_at", "took_ns"])
    return tables


def assert_same_content(one: dict[str, pd.DataFrame], other: dict[str, pd.DataFrame]) -> None:
    for name, frame in one.items():
        pd.testing.assert_frame_equal(frame, other[name], obj=name)


def assert_same(one: Path, other: Path) -> None:
    assert_same_content(content(one), content(other))


def gathered(captures: Path, folder: Path, **more: Any) -> Path:
    # Without Dask: what a cluster does beside that has tests of its own.
    gather_fleet([captures], folder, one_by_one=True, **more)
    return folder


# A dataset without captures: what netcost fleet would have kept of them, from their description.
def dataset(folder: Path, told: Iterable[Told], unreadable: int = 0) -> Path:
    data = Dataset.create(folder)
    for one in told:
        data.write(_row(one))
    for number in range(unreadable):
        refused = {"error_kind": "refused", "error": "not a capture: it is cut"}
        data.write({"path": f"captures/cut-{number}.data", **refused})
    return folder


def _row(told: Told) -> dict[str, Any]:
    polls, packets = told.rounds, told.rounds * told.batch
    poll_ns = int(told.around * (told.fixed_ns + told.packet_ns * told.batch)) * polls
    whole_ns, irq_ns = polls * told.period_ns, told.irq_ns * polls
    taken, each = poll_ns + irq_ns + 100 * polls, poll_ns // polls
    sums = {
        **dict.fromkeys(("cpu_ns", "on_cpu_ns"), whole_ns),
        **dict.fromkeys(("net_rx", "with_polls"), polls),
        **dict.fromkeys(("network_cpu_ns", "network_cpu_max_ns"), taken),
        **dict.fromkeys(("stolen_network_ns", "stolen_network_max_ns"), taken),
        "net_rx_ns": poll_ns + 100 * polls,
        "squeezes_low": 0,
        "squeezes_high": 0,
    }
    device = {
        "device": "eth0",
        "driver": told.driver,
        "ns": poll_ns + irq_ns,
        "poll_ns": poll_ns,
        "hardirq_ns": irq_ns,
        "cut_poll_ns": 0,
        "packets": packets,
        "timed_packets": packets,
        **dict.fromkeys(("interrupts", "polls", "busy_polls"), polls),
    }
    sizes = {"of": "eth0", "low": told.batch, "high": told.batch, "count": polls, "ns": poll_ns}
    lengths = {"of": "NET_RX", "low": each, "high": each, "count": polls, "ns": each * polls}
    return {
        "path": f"captures/{told.name}",
        "hostname": told.host,
        "kernel": told.kernel,
        "recorded_at": told.recorded_at,
        "recorded_by": "stamp",
        "netcost": "0",
        "duration_ns": whole_ns,
        "events": 6 * polls,
        "bytes": 1_000,
        "state": "unknown",
        "answers": [sums],
        "devices": [device],
        "histograms": [
            {"histogram": "poll_packets", **sizes},
            {"histogram": "softirq_ns", **lengths},
        ],
    }


REGRESSED, WHOLE = "6.12.0", "6.1.0"


# Hosts of two kernels, and, where one is planted, on one of them from a day on dearer polls.
def days(seed: int = 3, factor: float = 1.0) -> list[Told]:
    draw = np.random.default_rng(seed)
    return [
        Told(
            host=f"web{host}",
            kernel=REGRESSED if host < 2 else WHOLE,
            day=day,
            fixed_ns=3_000 + 400 * host,
            around=float(np.exp(draw.normal(0, 0.03))) * (factor if host < 2 and day >= 8 else 1),
        )
        for day in range(14)
        for host in range(4)
    ]
