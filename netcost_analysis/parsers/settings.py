# Settings of a kernel: its configuration, sysctls, CPUs that are set aside, their clock.

import re
from typing import NamedTuple

_TICKLESS = re.compile(r"^/sys/devices/system/cpu/nohz_full ([0-9,-]+)$", re.MULTILINE)
_SCALING = re.compile(
    r"^/sys/devices/system/cpu/cpu[0-9]+/cpufreq/scaling_(max_freq|governor|driver) (.+)$",
    re.MULTILINE,
)
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


def parse_kernel_config(text: str) -> dict[str, str]:
    """KEY=value lines of a kernel configuration as a dict, without its comments."""
    lines = (line.strip().partition("=") for line in text.splitlines() if line[:7] == "CONFIG_")
    return {key: value.strip('"') for key, equals, value in lines if equals}


def parse_sysctls(text: str) -> dict[str, str]:
    """What `sysctl -a` printed: name ("net.core.netdev_budget") to value."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def tickless_cpus(text: str) -> list[int]:
    """The CPUs of nohz_full= by settings/topology, files of /sys as "PATH VALUE" each."""
    found = _TICKLESS.search(text)
    cpus: list[int] = []
    for first, last in _RANGE.findall(found[1]) if found else ():
        # The kernel's list ascends: a forged one that does not may be as long as it likes.
        if cpus and int(first) <= cpus[-1]:
            break
        cpus += range(int(first), int(last or first) + 1)
    return cpus


class Scaling(NamedTuple):
    """What cpufreq was told. driver: whether any scales the clock; governors: those in use."""

    driver: bool
    governors: tuple[str, ...]
    limit_mhz: float | None


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
