# Sweeps told from their steps: interrupts at regular moments, each with a poll of so many packets.

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from netcost_analysis.opening.experiment import Experiment, open_experiment
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.told import OPENSSL, interrupt

# Of each round, besides its poll: the handler, and the softirq around the poll.
IRQ_NS, OUTSIDE_NS = 1_000, 100
AROUND_NS = IRQ_NS + OUTSIDE_NS
START_NS = 1_000_000
COLUMNS = (
    *("bundle", "data_path", "steering", "destinations", "victim", "offered_pps", "sent"),
    *("sent_pps", "received", "dropped_ingress", "dropped_backlog", "dropped_egress"),
    *("dropped_destination", "unaccounted"),
)


# What netcost-record wrote of a recording that has 100 - missing of 100 NET_RX softirqs on CPU 0.
def lacks(missing: int) -> dict[str, Any]:
    counted = {"counted": 100, "recorded": 100 - missing, "recorded_inside": 100 - missing}
    row = {"what": "softirq", "name": "NET_RX", "cpu": 0, **counted}
    return {
        "verdict": f"misses {missing} % of NET_RX on CPU 0" if missing else "complete",
        "state": "incomplete" if missing else "complete",
        "reason": None,
        "lost_events": 0,
        "rows": [{**row, "missing_least": missing, "missing_most": missing}],
    }


@dataclass
class Told:
    # A step. rate, batch: packets a second and of a poll. fixed_ns, packet_ns: what a poll takes,
    # and a packet. scatter: of polls' lengths. lacking: NET_RX of 100 that the recording has not.
    # columns: of its row in steps.tsv.
    data_path: str = "bridge"
    rate: int = 10_000
    batch: int = 2
    fixed_ns: int = 3_000
    packet_ns: int = 1_500
    scatter: float = 0.0
    seed: int = 1
    destinations: int = 1
    victim: str = "pinned"
    rounds: int = 160
    mpstat: str = ""
    daemons: str = ""
    repeat: int | None = None
    lacking: int = 0
    columns: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        safe = self.data_path if self.data_path.isalnum() else "other"
        again = "" if self.repeat is None else f"-{self.repeat}"
        return f"{safe}-to{self.destinations}-{self.victim}-{self.rate}{again}"

    @property
    def poll_ns(self) -> int:
        return self.fixed_ns + self.packet_ns * self.batch

    @property
    def period_ns(self) -> int:
        return self.batch * 10**9 // self.rate

    @property
    def end_ns(self) -> int:
        return START_NS + self.rounds * self.period_ns

    def write(self, folder: Path) -> None:
        bundle = folder / self.name
        bundle.mkdir()
        draw = np.random.default_rng(self.seed)
        polls = self.poll_ns * np.exp(draw.normal(0, self.scatter, self.rounds))
        told: list[h.Happening] = []
        for number, poll in enumerate(polls.astype(int).tolist()):
            at = START_NS + number * self.period_ns
            told += interrupt(at, poll, self.batch, "in0", line="in0-rx")
        # The window ends a whole period after the last round began.
        told.append(h.SoftirqRaise(self.end_ns, 9))
        recording(cpu(0, *told, task=OPENSSL), known=(OPENSSL,)).write(bundle / "perf.data")
        manifest: dict[str, Any] = {
            "netcost_bundle": 1,
            "trace": "perf.data",
            "record_command": "netcost-record --interval 0.01",
            "companions": [],
            "completeness": lacks(self.lacking),
        }
        if self.victim != "none":
            manifest["victim"] = {
                "command": "openssl speed",
                "cpu": 0,
                "pid": OPENSSL.tid,
                "start_ns": START_NS,
                "end_ns": self.end_ns,
            }
        if self.mpstat:
            (bundle / "mpstat.txt").write_text(self.mpstat)
            manifest["companions"] = [
                {"name": "mpstat", "output": "mpstat.txt", "start_ns": START_NS}
            ]
        if self.daemons:
            (bundle / "samples").mkdir()
            (bundle / "samples" / "daemons").write_text(self.daemons)
        (bundle / "manifest.json").write_text(json.dumps(manifest))

    @property
    def row(self) -> dict[str, Any]:
        sent = 10 * self.rate
        counted = {name: 0 for name in COLUMNS if name.startswith(("dropped", "unaccounted"))}
        again = {} if self.repeat is None else {"repeat": self.repeat}
        return {
            "bundle": self.name,
            "data_path": self.data_path,
            "steering": "wire",
            "destinations": self.destinations,
            "victim": self.victim,
            "offered_pps": self.rate,
            "sent": sent,
            "sent_pps": self.rate,
            "received": sent,
            **counted,
            **again,
            **self.columns,
        }


def sweep(folder: Path, *steps: Told, **described: Any) -> Experiment:
    # An experiment of these steps. described: of experiment.json.
    folder.mkdir(exist_ok=True)
    for step in steps:
        step.write(folder)
    names = list(dict.fromkeys(name for step in steps for name in step.row))
    lines = ["\t".join(names)]
    lines += ["\t".join(str(step.row.get(name, "")) for name in names) for step in steps]
    (folder / "steps.tsv").write_text("\n".join(lines) + "\n")
    said = {
        "netcost_experiment": 1,
        "experiment": "datapath-sweep",
        "kernel": "6.18.0",
        "command": "capture/lab/datapath-sweep -o mine",
        "victim_cpu": 0,
        "started": "2026-11-20T14:24:23Z",
        "ended": "2026-11-20T14:25:49Z",
        "table": "steps.tsv",
        "notes": [],
    }
    (folder / "experiment.json").write_text(json.dumps(said | described))
    return open_experiment(folder)
