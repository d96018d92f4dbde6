# Rules of comparability: hosts that differ, or were disturbed.

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np

from ..._native import CaptureError
from ...capture.manifest import Manifest
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...parsers.proc_text import cpu_mhz
from ...parsers.settings import Scaling, scaling
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


def _manifest(run: Run) -> Manifest:
    return run.bundle.manifest if run.bundle else Manifest()


def _text(run: Run, name: str) -> str:
    return (run.bundle.text(name) if run.bundle else None) or ""


# Facts of a run's host, None where unknown. A rotated recording is described by its first file.


def command_of(run: Run) -> str | None:
    # Of its load.
    load = _manifest(run).load
    return load.command if load else None


def _model(run: Run) -> str | None:
    return _manifest(run).host.cpu_model or None


def _scaling(run: Run) -> Scaling:
    return scaling(_text(run, "before/settings/cpufreq"))


def _mhz(run: Run) -> float | None:
    # At one moment only, where the clock is scaled.
    named = [_text(run, f"{when}/settings/cpuinfo") for when in ("before", "after")]
    speeds = [speed for text in named for speed in cpu_mhz(text)]
    return median(speeds) if speeds else None


@once
def _cpus(run: Run) -> int | None:
    # How many were recorded; None too where the records cannot be read.
    capture, bundle = run.captures[0], run.bundle
    try:
        seen = len(capture.info["cpus"])
        every = bundle.host_cpus if bundle and recorded_cpus(capture, bundle) is None else None
    except CaptureError:
        return None
    return every or seen or None


@once
def _stolen_share(run: Run) -> float | None:
    # What the hypervisor took of the CPUs' time during the recording.
    if run.bundle is None:
        return None
    before, after = run.bundle.before.ticks, run.bundle.after.ticks
    grown = [
        np.subtract(after[cpu][:_KINDS], ticks[:_KINDS])
        for cpu, ticks in before.items()
        if cpu in after and min(len(ticks), len(after[cpu])) >= _KINDS
    ]
    total = sum(grown, np.zeros(_KINDS, dtype="int64"))
    if total.sum() > 0:
        return float(max(total[-1], 0) / total.sum())
    intervals = mpstat_intervals(run.bundle)
    shares = intervals.loc[intervals["cpu"].notna(), "steal_share"].dropna()
    return float(shares.mean()) if len(shares) else None


def processor(comparison: Comparison) -> Iterator[Finding]:
    return unlike(comparison, "processor", "refused", _model)


def cpu_number(comparison: Comparison) -> Iterator[Finding]:
    return unlike(comparison, "cpu_number", "refused", _cpus)


def governor(comparison: Comparison) -> Iterator[Finding]:
    return unlike(
        comparison, "governor", "warning", lambda run: ", ".join(_scaling(run).governors) or None
    )


def clock_speed(comparison: Comparison) -> Iterator[Finding]:
    runs = [run for _, run in recorded(comparison)]
    clocks = [_scaling(run) for run in runs]
    limited = all(one.limit_mhz for one in clocks)
    known = [one.limit_mhz for one in clocks] if limited else map(_mhz, runs)
    speeds = [mhz for mhz in known if mhz is not None]
    apart = max(speeds) / min(speeds) - 1 if speeds and min(speeds) > 0 else 0.0
    if apart <= _SPEED_WARNED:
        return
    # A scaled clock changes: one moment proves nothing.
    moment = not limited and any(one.driver for one in clocks)
    refused = apart > _SPEED_REFUSED and not moment
    severity, limit = ("refused", _SPEED_REFUSED) if refused else ("warning", _SPEED_WARNED)
    speed: dict[str, Any] = {"least": min(speeds), "most": max(speeds), "is_moment": moment}
    yield finding("clock_speed", severity, found=apart, limit=limit, **speed)


def settings(comparison: Comparison) -> Iterator[Finding]:
    # Only what no label states: net.core.skb_defer_max may differ where a label skb_defer_max does.
    values: dict[str, set[str]] = {}
    for _, run in recorded(comparison):
        host = _manifest(run).host
        named = {"virtualization": host.virtualization, "clocksource": host.clocksource}
        for name, value in (named | (host.sysctls or {})).items():
            if value is not None:
                values.setdefault(name, set()).add(str(value))
    for name, some in values.items():
        if len(some) > 1 and name.rpartition(".")[2] not in comparison.differs:
            yield finding("settings", "warning", name=name, values=sorted(some))


def hypervisor(comparison: Comparison) -> Iterator[Finding]:
    for side, run in recorded(comparison):
        share = _stolen_share(run) or 0
        if share > _STOLEN:
            yield finding("hypervisor", "warning", side, run.name, share, _STOLEN)


def unknown(comparison: Comparison) -> Iterator[Finding]:
    # Facts that were not recorded may differ.
    facts: dict[str, Callable[[Run], object | None]] = {
        "the processor": _model,
        "the clock speed": lambda run: _scaling(run).limit_mhz or _mhz(run),
        "what a hypervisor took": _stolen_share,
        "the command of the load": command_of,
    }
    # All runs of one lab command are from one host.
    places = {run.place and run.place[0] for runs in comparison.sides.values() for run in runs}
    missing: dict[str, list[str]] = {}
    for side, runs in comparison.sides.items():
        missing[side] = [
            name for name, fact in facts.items() if any(fact(run) is None for run in runs.recorded)
        ]
        if not runs.recorded and len(places) > 1:
            missing[side] = list(facts)
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
            is_load_known = bool(command_of(run))
            yield finding(
                "neighbour",
                "warning" if is_load_known else "note",
                *(side, run.name, float(shares.sum()), _NEIGHBOUR),
                tasks=[(str(name), float(share)) for name, share in shares[:_NAMED].items()],
                more=max(len(shares) - _NAMED, 0),
                is_load_known=is_load_known,
            )
