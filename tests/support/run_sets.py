# Run sets of described recordings and of figures alone, and what is found when two are compared.

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from netcost_analysis import Run, open_capture
from netcost_analysis.comparison.comparison import Comparison
from netcost_analysis.comparison.run_set import RunSet
from netcost_analysis.questions.comparison.comparability import findings
from netcost_analysis.questions.comparison.rules import Finding
from support.device_bundles import bundle, net_dev
from support.host import kept_folder
from support.perfdata import Cpu, cpu
from support.perfdata import happenings as h
from support.told import raised

COMMAND = "udp-load send 198.18.0.2 9000 80000"
HOST = {"cpu_model": "EPYC", "virtualization": "kvm", "clocksource": "tsc", "sysctls": {}}


# A poll of four packets every 10 us, for 1 ms, on an idle CPU unless a task is given.
def polling(
    cost_ns: int = 2_000, work: int = 4, device: str = "eth0", task: h.Task | None = None
) -> Cpu:
    happenings: list[h.Happening] = []
    for at in range(10_000, 1_010_000, 10_000):
        happenings += raised(at, at, at + cost_ns, h.NapiPoll(at + cost_ns, device, work))
    return cpu(0, *happenings, task=task)


# A recording of one CPU with all that a bundle says of its host. ticks: of user, idle and steal by
# which /proc/stat grew. bytes, packets: what eth0 received.
def recorded(
    folder: Path,
    *cpus: Cpu,
    labels: dict[str, str] | None = None,
    place: tuple[str, int] | None = None,
    host: dict[str, Any] | None = None,
    command: str | None = COMMAND,
    output: str = "",
    victim: dict[str, Any] | None = None,
    mhz: float = 2_600,
    cpufreq: str = "",
    ticks: tuple[int, int, int] = (100, 100, 0),
    octets: int = 100_000,
    at_s: int = 0,
    files: dict[str, Any] | None = None,
    **settings: Any,
) -> Run:
    load = {"command": command, "output": "load.txt"} if command else None
    user, idle, steal = ticks
    manifest = {
        "netcost_bundle": 1,
        "trace": "trace.perf.data",
        "cpus": "all",
        "host": {**HOST, **(host or {})},
        "load": load,
        "victim": victim,
    }
    texts = {
        "manifest.json": manifest,
        "load.txt": output,
        "before/settings/cpuinfo": f"processor\t: 0\ncpu MHz\t\t: {mhz:.3f}\n",
        "before/settings/cpufreq": cpufreq,
        "before/stamp": f"monotonic_ns 1\nrealtime_ns {at_s}000000001\n",
        "before/stat": "cpu0 100 0 0 100 0 0 0 100 0 0\n",
        "after/stat": f"cpu0 {100 + user} 0 0 {100 + idle} 0 0 0 {100 + steal} 0 0\n",
        "before/net_dev": net_dev(eth0=(0, 0, 0, 0)),
        "after/net_dev": net_dev(eth0=(octets, 1_000, 0, 0)),
    }
    bundle(folder, {**texts, **(files or {})}, *(cpus or (polling(),)), **settings)
    return Run(folder.name, labels or {}, {}, (partial(open_capture, folder),), place)


# One of these with nothing of its own: measured once in a process, however many it is beside.
@cache
def plain(name: str = "a") -> Run:
    return recorded(kept_folder() / name)


# Runs of which figures were measured and no trace recorded; a row of a table of steps each.
def measured(
    name: str, values: Sequence[float], places: Sequence[int] | None = None, **labels: str
) -> RunSet:
    rows = places if places is not None else range(len(values))
    return RunSet(
        Run(
            f"{name}/{at}",
            {"kernel": name, **labels},
            {"received_bits_per_second": float(value)},
            place=("2026-11-20", row),
        )
        for at, (value, row) in enumerate(zip(values, rows, strict=True))
    )


def compared(base: Run | RunSet, new: Run | RunSet, **options: Any) -> Comparison:
    return Comparison(
        *(RunSet(one if isinstance(one, RunSet) else [one]) for one in (base, new)), **options
    )


def codes(comparison: Comparison) -> set[str]:
    return {one.code for one in findings(comparison)}


def severities(comparison: Comparison) -> dict[str, str]:
    return {one.code: one.severity for one in findings(comparison)}


def only(comparison: Comparison, code: str) -> Finding:
    found = [one for one in findings(comparison) if one.code == code]
    assert len(found) == 1, found
    return found[0]
