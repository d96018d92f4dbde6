# Rules of comparability: hosts that differ, or were disturbed.

from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from ..._native import CaptureError
from ...capture.bundle import Bundle
from ...capture.capture import Capture
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...parsers.proc_text import cpu_mhz
from ...parsers.settings import scaling
from ...snapshots.mpstat_times import mpstat_intervals
from ...timeline.reading import once
from ..completeness.completeness import recorded_cpus
from .rules import Finding, finding, recorded, unlike
from .run_blocks import run_blocks
from .tasks import process_contexts, programs

# Clocks that differ by more are refused, or warned about.
_SPEED_REFUSED, _SPEED_WARNED = 0.05, 0.01
# Shares of the CPUs' time that the hypervisor and neighbours may have.
_STOLEN, _NEIGHBOUR = 0.01, 0.05
# How many neighbours a sentence names.
_NAMED = 3
# The first columns of /proc/stat; guest time is part of user time, and steal is the last.
_KINDS = 8


class Host(NamedTuple):
    # What is known about a run's host; None where unknown. mhz: the clock in /proc/cpuinfo, at one
    # moment only where is_scaled. limit_mhz, governors: from cpufreq. cpus: how many were recorded.
    # stolen_share: the share of their time that the hypervisor took during the recording.
    # settings: sysctls, virtualization and clock source. command: of the load.
    model: str | None = None
    mhz: float | None = None
    is_scaled: bool = False
    limit_mhz: float | None = None
    governors: str | None = None
    cpus: int | None = None
    stolen_share: float | None = None
    settings: Mapping[str, str] = {}
    command: str | None = None


@once
def host_of(run: Run) -> Host:
    # A rotated recording is described by its first file.
    if not run.is_recorded:
        return Host()
    capture = run.captures[0]
    bundle = capture.bundle
    if bundle is None:
        return Host(cpus=_cpus(capture))
    named = [bundle.text(f"{when}/settings/cpuinfo") or "" for when in ("before", "after")]
    speeds = [speed for text in named for speed in cpu_mhz(text)]
    scaled = scaling(bundle.text("before/settings/cpufreq") or "")
    host, load = bundle.manifest.host, bundle.manifest.load
    settings = {"virtualization": host.virtualization, "clocksource": host.clocksource}
    settings |= host.sysctls or {}
    return Host(
        model=host.cpu_model or None,
        mhz=median(speeds) if speeds else None,
        is_scaled=scaled.driver,
        limit_mhz=scaled.limit_mhz,
        governors=", ".join(scaled.governors) or None,
        cpus=_cpus(capture),
        stolen_share=_stolen(bundle),
        settings={name: str(value) for name, value in settings.items() if value is not None},
        command=load.command if load else None,
    )


def _cpus(capture: Capture) -> int | None:
    # None where the records cannot be read.
    try:
        seen, bundle = len(capture.info["cpus"]), capture.bundle
        every = bundle.host_cpus if bundle and recorded_cpus(capture, bundle) is None else None
    except CaptureError:
        return None
    return every or seen or None


def _stolen(bundle: Bundle) -> float | None:
    before, after = bundle.before.ticks, bundle.after.ticks
    grown = [
        np.subtract(after[cpu][:_KINDS], ticks[:_KINDS])
        for cpu, ticks in before.items()
        if cpu in after and min(len(ticks), len(after[cpu])) >= _KINDS
    ]
    total = sum(grown, np.zeros(_KINDS, dtype="int64"))
    if total.sum() > 0:
        return float(max(total[-1], 0) / total.sum())
    intervals = mpstat_intervals(bundle)
    shares = intervals.loc[intervals["cpu"].notna(), "steal_share"].dropna()
    return float(shares.mean()) if len(shares) else None


def processor(comparison: Comparison) -> Iterator[Finding]:
    return unlike(comparison, "processor", "refused", lambda run: host_of(run).model)


def cpu_number(comparison: Comparison) -> Iterator[Finding]:
    return unlike(comparison, "cpu_number", "refused", lambda run: host_of(run).cpus)


def governor(comparison: Comparison) -> Iterator[Finding]:
    return unlike(comparison, "governor", "warning", lambda run: host_of(run).governors)


def clock_speed(comparison: Comparison) -> Iterator[Finding]:
    hosts = [host_of(run) for _, run in recorded(comparison)]
    limited = all(host.limit_mhz for host in hosts)
    clocks = [host.limit_mhz if limited else host.mhz for host in hosts]
    speeds = [mhz for mhz in clocks if mhz is not None]
    apart = max(speeds) / min(speeds) - 1 if speeds and min(speeds) > 0 else 0.0
    if apart <= _SPEED_WARNED:
        return
    # A scaled clock changes: one moment proves nothing.
    moment = not limited and any(host.is_scaled for host in hosts)
    refused = apart > _SPEED_REFUSED and not moment
    severity, limit = ("refused", _SPEED_REFUSED) if refused else ("warning", _SPEED_WARNED)
    speed: dict[str, Any] = {"least": min(speeds), "most": max(speeds), "is_moment": moment}
    yield finding("clock_speed", severity, found=apart, limit=limit, **speed)


def settings(comparison: Comparison) -> Iterator[Finding]:
    # Only what no label states: net.core.skb_defer_max may differ where a label skb_defer_max does.
    values: dict[str, set[str]] = {}
    for _, run in recorded(comparison):
        for name, value in host_of(run).settings.items():
            values.setdefault(name, set()).add(value)
    for name, some in values.items():
        if len(some) > 1 and name.rpartition(".")[2] not in comparison.differs:
            yield finding("settings", "warning", name=name, values=sorted(some))


def hypervisor(comparison: Comparison) -> Iterator[Finding]:
    for side, run in recorded(comparison):
        share = host_of(run).stolen_share or 0
        if share > _STOLEN:
            yield finding("hypervisor", "warning", side, run.name, share, _STOLEN)


def unknown(comparison: Comparison) -> Iterator[Finding]:
    # Facts that were not recorded may differ.
    names: dict[str, Callable[[Host], object | None]] = {
        "the processor": lambda host: host.model,
        "the clock speed": lambda host: host.limit_mhz or host.mhz,
        "what a hypervisor took": lambda host: host.stolen_share,
        "the command of the load": lambda host: host.command,
    }
    # All runs of one lab command are from one host.
    places = {run.place and run.place[0] for runs in comparison.sides.values() for run in runs}
    missing: dict[str, list[str]] = {}
    for side, runs in comparison.sides.items():
        hosts = [host_of(run) for run in runs.recorded]
        missing[side] = [
            name for name, fact in names.items() if any(fact(host) is None for host in hosts)
        ]
        if not hosts and len(places) > 1:
            missing[side] = list(names)
    alike = missing["base"] == missing["new"]
    for side, some in list(missing.items())[: 1 if alike else None]:
        if some:
            yield finding("unknown", "note", "" if alike else side, names=some)


def neighbour(comparison: Comparison) -> Iterator[Finding]:
    for side, run in recorded(comparison):
        if run_blocks(run).switches is None:
            # Without sched_switch the owner of the time is unknown.
            continue
        rows = run_blocks(run).sums
        names = rows["comm"].astype("string").fillna("")
        others = (process_contexts(run, comparison) == "other") & (rows["context"] == "task")
        others &= (rows["is_network"].astype(object) != "yes") & ~names.isin(programs(run))
        names = names.replace("", "without a name")
        ns = rows[others].groupby(names[others])["ns"].sum().sort_values(ascending=False)
        shares = ns / max(rows["ns"].sum(), 1)
        if shares.sum() > _NEIGHBOUR:
            is_load_known = bool(host_of(run).command)
            yield finding(
                "neighbour",
                "warning" if is_load_known else "note",
                *(side, run.name, float(shares.sum()), _NEIGHBOUR),
                tasks=[(str(name), float(share)) for name, share in shares[:_NAMED].items()],
                more=max(len(shares) - _NAMED, 0),
                is_load_known=is_load_known,
            )
