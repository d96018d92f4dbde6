# How fast processors run: /proc/cpuinfo, and what netcost-record lists of cpufreq in settings.

import re
from typing import NamedTuple

_MHZ = re.compile(r"^cpu MHz\s*: *([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*$", re.MULTILINE)
_SCALING = re.compile(
    r"^/sys/devices/system/cpu/cpu[0-9]+/cpufreq/scaling_(max_freq|governor|driver) (.+)$",
    re.MULTILINE,
)


class Scaling(NamedTuple):
    """What cpufreq was told. driver: whether any scales the clock; governors: those in use."""

    driver: bool
    governors: tuple[str, ...]
    limit_mhz: float | None


def cpu_mhz(text: str) -> list[float]:
    """The "cpu MHz" of each CPU in /proc/cpuinfo: of that moment where the clock is scaled."""
    return [float(one) for one in _MHZ.findall(text)]


def scaling(text: str) -> Scaling:
    """What settings/cpufreq says; limit_mhz is the highest scaling_max_freq, None without any."""
    values: dict[str, list[str]] = {}
    for name, value in _SCALING.findall(text):
        values.setdefault(name, []).append(value.strip())
    limits = [int(one) for one in values.get("max_freq", ()) if re.fullmatch(r"[0-9]{1,9}", one)]
    return Scaling(
        "driver" in values,
        tuple(sorted(set(values.get("governor", ())))),
        max(limits) / 1e3 if limits else None,
    )
