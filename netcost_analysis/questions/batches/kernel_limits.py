# The kernel's own limits on a softirq, as the host had them set.

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...answers.question import Answer, question
from ...capture.bundle import Bundle
from ...capture.capture import Capture
from ...parsers.settings import parse_sysctls

# kernel/softirq.c, the same since 3.9.
MAX_SOFTIRQ_RESTART = 10
_SYSCTLS = ("netdev_budget", "netdev_budget_usecs", "dev_weight")
# As the kernel's own Kconfig allows; anything else is a stranger's number.
_MAX_HZ = 10_000
# The least and the most of what Kconfig offers.
_USUAL_HZ = (100, 1000)


@dataclass(frozen=True)
class KernelLimits:
    """What bounds a softirq: settings of the host, None where they were not recorded."""

    netdev_budget: int | None = None
    netdev_budget_usecs: int | None = None
    dev_weight: int | None = None
    hz: int | None = None
    source: str = "none recorded"

    @property
    def tick_ns(self) -> int | None:
        """How long a jiffy is, in ns."""
        return None if self.hz is None else round(1e9 / self.hz)

    @property
    def net_rx_jiffies(self) -> int | None:
        """netdev_budget_usecs in jiffies, rounded up as usecs_to_jiffies does."""
        if self.hz is None or self.netdev_budget_usecs is None:
            return None
        return -(-self.netdev_budget_usecs * self.hz // 1_000_000)

    @property
    def net_rx_limit_ns(self) -> tuple[int, int] | None:
        """How long one NET_RX may take: from, and to, for its first jiffy has begun before."""
        if self.net_rx_jiffies is None or self.tick_ns is None:
            return None
        return (self.net_rx_jiffies - 1) * self.tick_ns, self.net_rx_jiffies * self.tick_ns

    @property
    def softirq_jiffies(self) -> int | None:
        """MAX_SOFTIRQ_TIME, msecs_to_jiffies(2)."""
        return None if self.hz is None else _softirq_jiffies(self.hz)

    @property
    def softirq_limit_ns(self) -> tuple[int, int]:
        """How long a run of softirqs goes on until MAX_SOFTIRQ_TIME ends it: from, and to.

        The limit is counted in jiffies from whenever in one the run began: at 250 Hz in one tick,
        which comes after 0 to 4 ms. Where HZ is unknown, of any from 100 to 1000.
        """
        rates = (self.hz,) if self.hz else _USUAL_HZ
        least = [(_softirq_jiffies(hz) - 1) * 1_000_000_000 // hz for hz in rates]
        most = [_softirq_jiffies(hz) * 1_000_000_000 // hz for hz in rates]
        return min(least), max(most)


def _softirq_jiffies(hz: int) -> int:
    return -(-2 * hz // 1_000)


@question(rows=0)
def kernel_limits(capture: Capture) -> Answer:
    """The softirq limits of a bundle's host; all None for a bare recording.

    A setting that changed during the recording is None. Source: before/settings/sysctl_net_core and
    after/, else the manifest's host.sysctls; HZ from its kernel configuration.
    """
    limits = limits_of(capture)
    least_ns, most_ns = limits.net_rx_limit_ns or (None, None)
    return Answer(
        **asdict(limits),
        tick_ns=limits.tick_ns,
        net_rx_jiffies=limits.net_rx_jiffies,
        net_rx_least_ns=least_ns,
        net_rx_most_ns=most_ns,
    )


def limits_of(
    capture: Capture,
    budget: int | None = None,
    usecs: int | None = None,
    hz: int | None = None,
) -> KernelLimits:
    # What is given is better known than what was recorded.
    bundle = capture.bundle
    settings, source = _settings(bundle) if bundle else ({}, "none recorded")
    known_hz = _number((bundle.kernel_config if bundle else {}).get("CONFIG_HZ")) or 0
    return KernelLimits(
        budget or settings.get("netdev_budget"),
        usecs or settings.get("netdev_budget_usecs"),
        settings.get("dev_weight"),
        hz or (known_hz if 0 < known_hz <= _MAX_HZ else None),
        "as given" if budget and usecs and hz else source,
    )


def _settings(bundle: Bundle) -> tuple[dict[str, int], str]:
    before, after = (
        _known(parse_sysctls(bundle.text(f"{side}/settings/sysctl_net_core") or ""))
        for side in ("before", "after")
    )
    if before:
        kept = {name: value for name, value in before.items() if after.get(name, value) == value}
        return kept, "before/settings/sysctl_net_core"
    sysctls = bundle.manifest.host.sysctls
    source = "none recorded" if sysctls is None else "manifest.json, host.sysctls"
    return _known(sysctls or {}), source


def _known(sysctls: Mapping[str, Any]) -> dict[str, int]:
    numbers = {name: _number(sysctls.get(f"net.core.{name}")) for name in _SYSCTLS}
    return {name: number for name, number in numbers.items() if number}


def _number(value: Any) -> int | None:
    return int(value) if re.fullmatch(r"[1-9]\d{0,8}", str(value)) else None
