# Settings of a kernel: how it was configured, its sysctls, what its CPUs are set aside for.

import re

_TICKLESS = re.compile(r"^/sys/devices/system/cpu/nohz_full ([0-9,-]+)$", re.MULTILINE)
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


def parse_kernel_config(text: str) -> dict[str, str]:
    """KEY=value lines of a kernel configuration as a dict, without its comments."""
    pairs = (
        line.strip().split("=", 1)
        for line in text.splitlines()
        if line.startswith("CONFIG_") and "=" in line
    )
    return {key: value.strip('"') for key, value in pairs}


def parse_sysctls(text: str) -> dict[str, str]:
    """What `sysctl -a` printed: name ("net.core.netdev_budget") to value."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def tickless_cpus(text: str) -> list[int]:
    """The CPUs of nohz_full= by settings/topology, files of /sys as "PATH VALUE" each."""
    found = _TICKLESS.search(text)
    ranges = _RANGE.findall(found[1]) if found else ()
    return [cpu for first, last in ranges for cpu in range(int(first), int(last or first) + 1)]
