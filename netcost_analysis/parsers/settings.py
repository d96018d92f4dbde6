# A kernel's settings: configuration, sysctls, nohz_full CPUs, cpufreq.

import re
from typing import NamedTuple

_TICKLESS = re.compile(r"^/sys/devices/system/cpu/nohz_full ([0-9,-]+)$", re.MULTILINE)
_SCALING = re.compile(
    r"^/sys/devices/system/cpu/cpu[0-9]+/cpufreq/scaling_(max_freq|governor|driver) (.+)$",
    re.MULTILINE,
)
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


def parse_kernel_config(text: str) -> dict[str, str]:
    """A kernel configuration as a dict, without its comments."""
    lines = (line.strip().partition("=") for line in text.splitlines() if line[:7] == "CONFIG_")
    return {key: value.strip('"') for key, equals, value in lines if equals}


def parse_sysctls(text: str) -> dict[str, str]:
    """The output of `sysctl -a`: name ("net.core.netdev_budget") to value."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def tickless_cpus(text: str) -> list[int]:
    """The CPUs of nohz_full=, from settings/topology, which lists files of /sys as "PATH VALUE"."""
    match = _TICKLESS.search(text)
    cpus: list[int] = []
    for first, last in _RANGE.findall(match[1]) if match else ():
        # The kernel's list ascends. A forged one that does not could be arbitrarily long.
        if cpus and int(first) <= cpus[-1]:
            break
        cpus += range(int(first), int(last or first) + 1)
    return cpus


class Scaling(NamedTuple):
    """cpufreq's settings. driver: whether one scales the clock; governors: those in use."""

    driver: bool
    governors: tuple[str, ...]
    limit_mhz: float | None


def scaling(text: str) -> Scaling:
    """The contents of settings/cpufreq; limit_mhz is the highest scaling_max_freq, or None."""
    values: dict[str, list[str]] = {}
    for name, value in _SCALING.findall(text):
        values.setdefault(name, []).append(value.strip())
    limits = [int(khz) for khz in values.get("max_freq", ()) if re.fullmatch(r"[0-9]{1,9}", khz)]
    return Scaling(
        "driver" in values,
        tuple(sorted(set(values.get("governor", ())))),
        max(limits) / 1e3 if limits else None,
    )
