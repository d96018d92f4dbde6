# What is known of the host of a run, None for what is not.

from collections.abc import Mapping
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._native import CaptureError
from ...capture.manifest import Host as Described
from ...comparison.run import Run
from ...parsers.clock_speed import cpu_mhz, scaling
from ...snapshots.mpstat_times import mpstat_intervals
from ...timeline.reading import once
from ..completeness.completeness import recorded_cpus

if TYPE_CHECKING:
    from ...capture.bundle import Bundle
    from ...capture.capture import Capture

# The columns of /proc/stat that make up a CPU's time; guest time is in user's, and steal the last.
_KINDS = 8


class Host(NamedTuple):
    # model: of the processor. mhz: its clock as /proc/cpuinfo has it, of that moment where
    # is_scaled; limit_mhz, governors: cpufreq's. cpus: how many were recorded. stolen_share: of
    # their time, what the hypervisor gave to others while it was recorded. settings: sysctls,
    # virtualization and clock source, by name. command: of the load.
    model: str | None = None
    mhz: float | None = None
    is_scaled: bool = False
    limit_mhz: float | None = None
    governors: str | None = None
    cpus: int | None = None
    stolen_share: float | None = None
    settings: Mapping[str, str] = MappingProxyType({})
    command: str | None = None

    @property
    def speed_mhz(self) -> float | None:
        return self.limit_mhz or self.mhz


@once
def host_of(run: Run) -> Host:
    # Of a rotated recording what came with its first file.
    if not run.is_recorded:
        return Host()
    capture = run.captures[0]
    bundle = capture.bundle
    if bundle is None:
        return Host(cpus=_cpus(capture))
    named = [bundle.text(f"{when}/settings/cpuinfo") or "" for when in ("before", "after")]
    speeds = [one for text in named for one in cpu_mhz(text)]
    scaled = scaling(bundle.text("before/settings/cpufreq") or "")
    load = bundle.manifest.load
    return Host(
        model=bundle.manifest.host.cpu_model or None,
        mhz=median(speeds) if speeds else None,
        is_scaled=scaled.driver,
        limit_mhz=scaled.limit_mhz,
        governors=", ".join(scaled.governors) or None,
        cpus=_cpus(capture),
        stolen_share=_stolen(bundle),
        settings=_settings(bundle.manifest.host),
        command=load.command if load else None,
    )


def _cpus(capture: "Capture") -> int | None:
    # None where its records cannot be walked.
    try:
        seen, bundle = len(capture.info["cpus"]), capture.bundle
        every = bundle.host_cpus if bundle and recorded_cpus(capture, bundle) is None else None
    except CaptureError:
        return None
    return every or seen or None


def _stolen(bundle: "Bundle") -> float | None:
    before, after = bundle.before.ticks, bundle.after.ticks
    grown = [
        [end - start for start, end in zip(before[cpu], after[cpu], strict=False)][:_KINDS]
        for cpu in before
        if cpu in after and min(len(before[cpu]), len(after[cpu])) >= _KINDS
    ]
    whole = sum(map(sum, grown))
    if grown and whole > 0:
        return max(sum(row[-1] for row in grown), 0) / whole
    intervals = mpstat_intervals(bundle)
    shares = intervals.loc[intervals["cpu"].notna(), "steal_share"].dropna()
    return float(shares.mean()) if len(shares) else None


def _settings(host: Described) -> dict[str, str]:
    named: dict[str, Any] = {
        "virtualization": host.virtualization,
        "clocksource": host.clocksource,
        **(host.sysctls or {}),
    }
    return {name: str(value) for name, value in named.items() if value is not None}
