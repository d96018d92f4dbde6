"""The energy that the machine used during a recording, by domain and interval.

There are three sources, which are never added up: /sys/class/powercap as netcost-record sampled it,
perf's power events, and turbostat. All read the processor's own counters (RAPL).
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from ..units import plural
from .counters import Reading, readings
from .mpstat_times import interval_s
from .perf_stat import COUNTED, FARTHEST_NS, counted_in

if TYPE_CHECKING:
    from ..capture.bundle import Bundle

# Best first: powercap has the time of each reading, perf its own intervals, turbostat no times.
SOURCES = ("powercap", "perf", "turbostat")
_PERF = {
    "energy-pkg": "package",
    "energy-cores": "cores",
    "energy-gpu": "uncore",
    "energy-ram": "dram",
    "energy-psys": "psys",
}
_POWER_EVENT = r"^power/(energy-[a-z]+)/"
# The kernel's names of zones (drivers/powercap/intel_rapl_common.c).
_ZONES = {"package": "package", "core": "cores", "uncore": "uncore", "dram": "dram", "psys": "psys"}
# The same counters once more, through MMIO.
_AGAIN = "intel-rapl-mmio"
# More than a processor and its memory can use. A counter that seems to grow faster is wrong. One
# that could wrap within an interval at this rate may have done so unseen.
_MAX_WATTS = 5_000
_MICROJOULES = re.compile(r"[0-9]{1,18}$")
_TYPES = {
    **dict.fromkeys(("source", "domain", "zone"), "str"),
    **dict.fromkeys(("start_ns", "end_ns", "interval_ns"), "int64"),
    "interval_error_ns": "Int64",
    **dict.fromkeys(("joules", "watts"), "float64"),
}
# The names in its manual, and those before 2014.
_WATTS = {
    "PkgWatt": "package",
    "Pkg_W": "package",
    "CorWatt": "cores",
    "Cor_W": "cores",
    "GFXWatt": "uncore",
    "GFX_W": "uncore",
    "RAMWatt": "dram",
    "RAM_W": "dram",
    "SysWatt": "psys",
}
_NUMBER = re.compile(r"\d{1,6}(?:\.\d+)?$")
_TURBOSTAT_TYPES = {"interval": "int64", "domain": "str", "watts": "float64"}


class Energy(NamedTuple):
    """The energy of a recording. notes: what was left out, and why.

    frame: a row per source, zone and interval: source ("powercap", "perf", "turbostat"), domain
    ("package", "cores", "uncore", "dram", "psys", or the kernel's name of another zone), zone (the
    name with its parent's), start_ns, end_ns, interval_ns and interval_error_ns (the true interval,
    and by how much it may be off), joules, watts. For turbostat, which prints no times, joules are
    NaN and interval_error_ns is NA. A package's energy includes its cores' and uncore's.
    """

    frame: pd.DataFrame
    notes: tuple[str, ...]


def energy(bundle: "Bundle") -> Energy:
    """The energy from all of a bundle's sources, by zone and interval.

    A powercap counter that went backwards has wrapped at its max_energy_range_uj. An interval so
    long that a counter could wrap within it at 5 kW is left out, since its growth is not known.
    """
    sampled, notes = _powercap(readings(bundle, "energy", sides=False))
    counted = counted_in(bundle, "energy")
    frames = [sampled, _perf(counted.frame), _turbostat(turbostat_intervals(bundle))]
    typed = [frame[list(_TYPES)].astype(_TYPES) for frame in frames]
    frame = pd.concat([part for part in typed if len(part)] or typed[:1], ignore_index=True)
    return Energy(frame, (*notes, *counted.notes))


def _powercap(copies: list[Reading]) -> tuple[pd.DataFrame, list[str]]:
    # The counter and its range, in joules, at each reading, by zone.
    known: dict[str, list[tuple[Reading, float, float]]] = {}
    names: dict[str, str] = {}
    for reading in copies:
        for zone, name, value, most in _zones(reading.text):
            names.setdefault(zone, name)
            known.setdefault(zone, []).append((reading, value, most))
    rows, unknown = [], 0
    without_mmio = [zone for zone in known if not zone.startswith(f"{_AGAIN}:")]
    for zone in without_mmio or known:
        for (first, before, _), (last, after, most) in pairwise(known[zone]):
            start_ns, end_ns = ((side.begin_ns + side.end_ns) // 2 for side in (first, last))
            seconds = (end_ns - start_ns) / 1e9
            joules = after - before + (most if after < before else 0)
            if seconds <= 0 or not joules <= _MAX_WATTS * seconds < most:
                unknown += 1
                continue
            error_ns = (first.end_ns - first.begin_ns + last.end_ns - last.begin_ns) // 2
            rows.append((*_named(zone, names), start_ns, end_ns, error_ns, joules))
    columns = ["domain", "zone", "start_ns", "end_ns", "interval_error_ns", "joules"]
    frame = _measured("powercap", pd.DataFrame(rows, columns=columns))
    if not unknown:
        return frame, []
    what = plural(unknown, "interval")
    return frame, [f"{what} of powercap is left out: its counter may have wrapped unnoticed"]


def _zones(text: str) -> Iterator[tuple[str, str, float, float]]:
    # The valid lines: zone, name, counter and its range, in joules.
    for line in text.splitlines():
        words = line.split()
        if len(words) == 4 and all(_MICROJOULES.match(word) for word in words[2:]):
            value, most = (int(word) / 1e6 for word in words[2:])
            if value <= most:
                yield words[0], words[1], value, most


def _named(zone: str, names: dict[str, str]) -> tuple[str, str]:
    # The domain, and the name with its parent's, since several packages have cores.
    name, parent = names[zone], names.get(zone.rpartition(":")[0])
    domain = _ZONES.get(name.partition("-")[0], name)
    return domain, f"{parent} {name}" if parent else name


def _perf(counted: pd.DataFrame) -> pd.DataFrame:
    # For several packages, some versions of perf print the sum, others a line each.
    events = counted["event"].str.extract(_POWER_EVENT, expand=False)
    kept = counted.assign(domain=events.map(_PERF), joules=counted["value"])
    kept = kept[kept["domain"].notna() & (kept["outcome"] == COUNTED)]
    kept = kept[(kept["unit"] == "Joules") & (kept["end_ns"] > kept["start_ns"])]
    keys = ["domain", "start_ns", "end_ns", "interval_error_ns"]
    frame = kept.groupby(keys, sort=False)["joules"].sum().reset_index()
    return _measured("perf", frame.assign(zone=frame["domain"]))


def _measured(source: str, frame: pd.DataFrame) -> pd.DataFrame:
    interval = frame["end_ns"] - frame["start_ns"]
    watts = frame["joules"] / (interval / 1e9)
    return frame.assign(source=source, interval_ns=interval, watts=watts)


def _turbostat(frame: pd.DataFrame) -> pd.DataFrame:
    interval = frame["end_ns"] - frame["start_ns"]
    named = frame.assign(source="turbostat", zone=frame["domain"], interval_ns=interval)
    # The interval is the requested one. How much longer it really was is not known.
    return named.assign(interval_error_ns=float("nan"), joules=float("nan"))


def parse_turbostat(text: str) -> pd.DataFrame:
    """The watts of the whole machine, with or without --Summary; the heading may recur.

    A row per interval (from 0) and domain: watts, the interval's mean as turbostat measured it.
    Lines of single CPUs and unknown lines are skipped.
    """
    heading: list[str] = []
    rows: list[tuple[int, str, float]] = []
    interval = 0
    for line in text.splitlines():
        words = line.split()
        if set(words) & set(_WATTS):
            heading = words
        elif len(words) == len(heading) and _of_all(dict(zip(heading, words, strict=True))):
            watts = [
                (interval, _WATTS[name], float(word))
                for name, word in zip(heading, words, strict=True)
                if name in _WATTS and _NUMBER.match(word)
            ]
            rows += watts
            interval += bool(watts)
    return pd.DataFrame(rows, columns=list(_TURBOSTAT_TYPES)).astype(_TURBOSTAT_TYPES)


def _of_all(values: dict[str, str]) -> bool:
    # Without --Summary the machine's line has "-" for its CPU.
    return all(values.get(name, "-") == "-" for name in ("CPU", "Core", "Package", "Node", "Die"))


def turbostat_intervals(bundle: "Bundle") -> pd.DataFrame:
    """turbostat's output beside a recording, with the approximate times of its intervals.

    It prints no times, so intervals of the requested length are placed end to end.
    """
    turbostat = bundle.manifest.companion("turbostat")
    frame = parse_turbostat(bundle.text(turbostat.output or "turbostat.txt") or "")
    began = min(turbostat.start_ns or 0, FARTHEST_NS)
    # turbostat is run with whole seconds.
    step_s = max(round(interval_s(bundle) + 1e-9), 1)
    ends = ((frame["interval"] + offset) * step_s for offset in (0, 1))
    start_ns, end_ns = (began + (end.clip(upper=FARTHEST_NS // 10**9) * 10**9) for end in ends)
    return frame.assign(start_ns=start_ns, end_ns=end_ns)
