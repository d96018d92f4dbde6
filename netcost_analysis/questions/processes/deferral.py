# Whether a kernel defers the freeing of packets to the CPU that allocated them, by its settings.

import re

from ...capture.capture import Capture
from ...parsers.settings import parse_sysctls

_SYSCTL = "net.core.skb_defer_max"
# 68822bdf76f1 and the sysctl, 39564c3fdc66. Distributors port it back, so a list of settings tells
# more than the version.
_SINCE = (5, 19)
# In the same table of the kernel, which only the first network namespace has.
_NEIGHBOUR = "net.core.netdev_budget"


def defer_limit(capture: Capture) -> int | None:
    # How many packets may wait for the CPU that allocated them; None where that is not known.
    setting = {**_chosen(capture), **_listed(capture)}.get(_SYSCTL, "")
    return int(setting) if re.fullmatch(r"\d{1,10}", setting) else None


def not_deferred(capture: Capture) -> str | None:
    # Why there is nothing to switch off: "off", "no such setting", "old kernel"; None where there
    # is, or may be.
    listed = _listed(capture)
    settings = {**_chosen(capture), **listed}
    if _SYSCTL in settings:
        return "off" if settings[_SYSCTL].strip() == "0" else None
    if _NEIGHBOUR in listed:
        return "no such setting"
    release = re.match(r"(\d{1,4})\.(\d{1,4})", str(capture.info["kernel"] or ""))
    old = release is not None and tuple(map(int, release.groups())) < _SINCE
    return "old kernel" if old else None


def _chosen(capture: Capture) -> dict[str, str]:
    # The few settings in the manifest.
    host = capture.bundle.manifest.host if capture.bundle else None
    return {name: str(value) for name, value in ((host and host.sysctls) or {}).items()}


def _listed(capture: Capture) -> dict[str, str]:
    text = capture.bundle.text("before/settings/sysctl_net_core") if capture.bundle else None
    return parse_sysctls(text or "")
