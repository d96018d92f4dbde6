# Bundles with a processor's and an energy meter's counters, which no machine of the lab has: drawn
# in the form in which netcost-record's sampler, perf and turbostat write them.

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from netcost_analysis.opening.experiment import Experiment, open_experiment
from support.host import kept_folder, write_files
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.told import IDLE, OPENSSL, interrupt

S = 1_000_000_000
RANGE_UJ = 262_143_328_850
# Of both CPUs together, in each second from 1 s on: the share busy, and watts of the package.
BUSY = (0.0, 0.0, 0.5, 0.5)
WATTS = (10.0, 10.0, 30.0, 34.0)
ROUNDS, PACKETS = 160, 8
# An interrupt with its NET_RX, every 10 ms from 3.1 s on: 320 ms of the 2 s that CPU 0 is busy.
ROUND_NS = 2_000_000


def head(number: int, start_s: int = 1) -> str:
    at = (start_s + number) * S
    return f"@ {number + 1} {at} {at}\n"


def energy_samples(watts: Mapping[str, tuple[float, ...]], start_s: int = 1) -> str:
    # watts: by "ZONE NAME" the power in each second.
    counters = dict.fromkeys(watts, RANGE_UJ - 15_000_000)
    text = ""
    for number in range(len(next(iter(watts.values()))) + 1):
        text += head(number, start_s)
        for zone, each in watts.items():
            if number:
                counters[zone] = round(counters[zone] + 1e6 * each[number - 1]) % RANGE_UJ
            text += f"{zone} {counters[zone]} {RANGE_UJ}\n"
    return text


def stat_samples(busy: tuple[float, ...] = BUSY) -> str:
    user, idle, text = 1_000, 5_000, ""
    for number in range(len(busy) + 1):
        if number:
            user += round(100 * busy[number - 1])
            idle += round(100 * (1 - busy[number - 1]))
        text += head(number) + "cpu  0 0 0 0\n"
        text += "".join(f"cpu{one} {user} 0 0 {idle} 0 0 0 0 0 0\n" for one in (0, 1))
    return text


def softnet(*packets: tuple[int, int]) -> str:
    # By second the packets of both CPUs.
    text = ""
    for number, each in enumerate(packets):
        text += head(number)
        for one, count in enumerate(each):
            words = [f"{count:08x}", *["00000000"] * 11, f"{one:08x}", "00000000", "00000000"]
            text += " ".join(words) + "\n"
    return text


def counted(cpus: Mapping[int, Mapping[str, Any]], seconds: int = 4, running: float = 100.0) -> str:
    # As perf 6.1 writes with -j -A: a line per event and CPU at each second.
    lines = [
        {
            "interval": float(second),
            "cpu": str(number),
            "counter-value": value if isinstance(value, str) else f"{value:f}",
            "unit": "",
            "event": event,
            "event-runtime": S,
            "pcnt-running": running,
            "metric-value": 0.0,
            "metric-unit": "",
        }
        for second in range(1, seconds + 1)
        for event in dict.fromkeys(name for own in cpus.values() for name in own)
        for number, own in cpus.items()
        for value in [own[event]]
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def perf_energy(*joules: float) -> str:
    # Joules of the package in each second, of all CPUs together.
    lines = [
        counted({0: {"power/energy-pkg/": one}}, 1).replace("1.0,", f"{second}.0,", 1)
        for second, one in enumerate(joules, 1)
    ]
    return "".join(lines).replace('"cpu": "0", ', "").replace('"unit": ""', '"unit": "Joules"')


# Of CPU 0 and CPU 1 in a second: CPU 1 does half as much for each cycle, and misses twice as often.
_EACH: dict[str, tuple[Any, Any]] = {
    "cycles": (2e9, 1e9),
    "instructions": (4e9, 1e9),
    "cache-misses": (4e6, 2e6),
    "LLC-load-misses": (2e6, 1e6),
    "branches": (8e8, 2e8),
    "branch-misses": (8e6, 4e6),
    "dTLB-load-misses": (1e6, 5e5),
    "stalled-cycles-frontend": (2e8, "<not supported>"),
    "stalled-cycles-backend": (6e8, 5e8),
    "context-switches": (500, 100),
    "cpu-migrations": (20, 10),
    "page-faults": (300, 0),
}
COUNTERS = {number: {name: each[number] for name, each in _EACH.items()} for number in (0, 1)}
SOFTNET = tuple((1_000 * number, 100_000 * number) for number in range(5))
ZONES = {
    "intel-rapl:0 package-0": WATTS,
    "intel-rapl:0:0 core": tuple(each / 2 for each in WATTS),
    "intel-rapl:0:1 dram": (2.0, 2.0, 5.0, 5.0),
}


def trace(folder: Path) -> None:
    # CPU 0 idles until 3 s, then openssl runs there and is interrupted; CPU 1 idles throughout.
    told: list[h.Happening] = [h.SoftirqRaise(1 * S, 9), h.Switch(3 * S, OPENSSL, 0)]
    for number in range(ROUNDS):
        at = 3 * S + 100_000_000 + number * 10_000_000
        told += interrupt(
            at, ROUND_NS - 2_000, PACKETS, line="eth0-rx-0", wait_ns=0, after_ns=1_000
        )
    told.append(h.SoftirqRaise(5 * S, 9))
    idle = cpu(1, h.SoftirqRaise(1 * S, 9), h.SoftirqRaise(5 * S, 9), task=h.idle(1))
    one = recording(cpu(0, *told, task=IDLE), idle, known=(OPENSSL,))
    one.write(folder / "perf.data")


def energy_bundle(folder: Path, files: Mapping[str, str | None] | None = None, **said: Any) -> Path:
    # files: by name what is written instead; None for none. said: of the manifest.
    folder.mkdir(parents=True, exist_ok=True)
    trace(folder)
    texts: dict[str, str | None] = {
        "samples/energy": energy_samples(ZONES),
        "samples/stat": stat_samples(),
        "samples/softnet_stat": softnet(*SOFTNET),
        "counters.jsonl": counted(COUNTERS),
        "before/stat": "cpu0 1 0 0 1 0 0 0\ncpu1 1 0 0 1 0 0 0\n",
        "before/stamp": f"net_dev {S + 500_000_000} {S + 500_000_000}\n",
        "after/stamp": f"net_dev {4 * S + 500_000_000} {4 * S + 500_000_000}\n",
        **(files or {}),
    }
    write_files(folder, {name: text for name, text in texts.items() if text is not None})
    manifest = {
        "netcost_bundle": 1,
        "trace": "perf.data",
        "companions": [
            {"name": name, "output": output, "start_ns": S, "end_ns": 5 * S}
            for name, output in (("counters", "counters.jsonl"), ("energy", "energy.jsonl"),
                                 ("turbostat", "turbostat.txt"))
        ],
        **said,
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def energy_experiment(folder: Path, sizes: tuple[int, ...] = (0, 64, 1024, 65536)) -> Experiment:
    # Steps as io-sizes makes them; the first of size 0 idles. The larger the I/O, the fewer watts.
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["bundle\tio_bytes\tseconds\treceived_bytes\treceived_packets\tanswered_packets"]
    for rank, size in enumerate(sizes):
        watts = (8.0,) * 4 if size == 0 else (50.0 - 10 * rank,) * 4
        busy = (0.0,) * 4 if size == 0 else (0.9,) * 4
        zones = {
            "intel-rapl:0 package-0": watts,
            "intel-rapl:0:1 dram": tuple(each / 8 + rank for each in watts),
        }
        # Each step takes as many cycles more for as many instructions.
        slower = {
            number: {**own, "cycles": (1 + rank) * own["cycles"]}
            for number, own in COUNTERS.items()
        }
        files = {
            "samples/energy": energy_samples(zones),
            "samples/stat": stat_samples(busy),
            "counters.jsonl": counted(slower),
        }
        energy_bundle(folder / str(size), files)
        # In the 3 s between its stamps.
        moved = 0 if size == 0 else 3 * 10**8 * 2**rank
        lines.append(f"{size}\t{size}\t3.5\t{moved}\t{moved // 1_000}\t{moved // 2_000}")
    (folder / "steps.tsv").write_text("\n".join(lines) + "\n")
    said = {"netcost_experiment": 1, "experiment": "io-sizes", "table": "steps.tsv"}
    (folder / "experiment.json").write_text(json.dumps(said))
    return open_experiment(folder)


# For tests that ask every question of something that answers it: paths.
@cache
def kept_energy() -> tuple[str, str]:
    folder = kept_folder()
    energy_experiment(folder / "sizes")
    return str(energy_bundle(folder / "bundle")), str(folder / "sizes")
