"""Which energy the machine used while it was recorded, by domain and interval.

From three sources, each by itself, never added: /sys/class/powercap as netcost-record's sampler
copied it, perf's power events, turbostat. All read the processor's own counters (RAPL).
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from ..units import plural
from .counters import Reading, readings
from .perf_stat import COUNTED, counted_in
from .turbostat import turbostat_intervals

if TYPE_CHECKING:
    from ..capture.bundle import Bundle

# The best first: times of each reading; perf's own intervals; none.
SOURCES = ("powercap", "perf", "turbostat")
_PERF = {
    "energy-pkg": "package",
    "energy-cores": "cores",
    "energy-gpu": "uncore",
    "energy-ram": "dram",
    "energy-psys": "psys",
}
_POWER_EVENT = r"^power/(energy-[a-z]+)/"
# Zones as the kernel names them (drivers/powercap/intel_rapl_common.c).
_ZONES = {"package": "package", "core": "cores", "uncore": "uncore", "dram": "dram", "psys": "psys"}
# The same counters once more, by another way in.
_AGAIN = "intel-rapl-mmio"
# More than a processor with its memory can use: a counter that grew so fast did not, and one that
# can come round within an interval at this rate may have done so unseen.
_MAX_WATTS = 5_000
_MICROJOULES = re.compile(r"[0-9]{1,18}$")
_TYPES = {
    **dict.fromkeys(("source", "domain", "zone"), "str"),
    **dict.fromkeys(("start_ns", "end_ns", "interval_ns", "interval_error_ns"), "int64"),
    **dict.fromkeys(("joules", "watts"), "float64"),
}


class Energy(NamedTuple):
    """The energy of a recording. notes: what was left out, and why.

    frame: a row per source, zone and interval: source ("powercap", "perf", "turbostat"), domain
    ("package", "cores", "uncore", "dram", "psys", or the kernel's name of another zone), zone (the
    name with its parent's), start_ns, end_ns, interval_ns and interval_error_ns (the true interval,
    and by how much it may be off), joules, watts; joules are NaN of turbostat, which says no times.
    A package's energy holds its cores' and uncore's.
    """

    frame: pd.DataFrame
    notes: tuple[str, ...]


def energy(bundle: "Bundle") -> Energy:
    """The energy that a bundle's sources say, by zone and interval.

    A counter of powercap that went back has come round at its max_energy_range_uj. Where it could
    do so more than once within an interval, at 5 kW, nobody knows what it grew by, and the interval
    is left out.
    """
    sampled, notes = _powercap(readings(bundle, "energy", sides=False))
    counted = counted_in(bundle, "energy")
    frames = [sampled, _perf(counted.frame), _turbostat(turbostat_intervals(bundle))]
    found = [one[list(_TYPES)].astype(_TYPES) for one in frames]
    frame = pd.concat([one for one in found if len(one)] or found[:1], ignore_index=True)
    return Energy(frame, (*notes, *counted.notes))


def _powercap(copies: list[Reading]) -> tuple[pd.DataFrame, list[str]]:
    # Of each zone its counter and its range in joules, at each reading.
    known: dict[str, list[tuple[Reading, float, float]]] = {}
    names: dict[str, str] = {}
    for one in copies:
        for zone, name, value, most in _zones(one.text):
            names.setdefault(zone, name)
            known.setdefault(zone, []).append((one, value, most))
    rows, unknown = [], 0
    own = [zone for zone in known if not zone.startswith(f"{_AGAIN}:")]
    for zone in own or known:
        for (first, before, _), (last, after, most) in pairwise(known[zone]):
            start_ns, end_ns = ((one.begin_ns + one.end_ns) // 2 for one in (first, last))
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
    return frame, [f"{what} of powercap left out: its counter may have come round unseen"]


def _zones(text: str) -> Iterator[tuple[str, str, float, float]]:
    # The lines that are whole: zone, name, what it counted and its range, in joules.
    for line in text.splitlines():
        words = line.split()
        if len(words) == 4 and all(_MICROJOULES.match(word) for word in words[2:]):
            value, most = (int(word) / 1e6 for word in words[2:])
            if value <= most:
                yield words[0], words[1], value, most


def _named(zone: str, names: dict[str, str]) -> tuple[str, str]:
    # The domain, and its name with its parent's: several packages have cores.
    name, parent = names[zone], names.get(zone.rpartition(":")[0])
    domain = _ZONES.get(name.partition("-")[0], name)
    return domain, f"{parent} {name}" if parent else name


def _perf(counted: pd.DataFrame) -> pd.DataFrame:
    # Of several packages perf prints the sum, or with another perf a line each.
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
    # As long as it was asked to wait, and nobody knows how much longer.
    return named.assign(interval_error_ns=0, joules=float("nan"))
