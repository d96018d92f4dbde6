# Whether a kernel defers the freeing of packets to the CPU that allocated them.

import re

from ...capture.capture import Capture
from ...parsers.settings import parse_sysctls

_SYSCTL = "net.core.skb_defer_max"
# 68822bdf76f1 and the sysctl, 39564c3fdc66. Distributors port back: a list of settings tells more.
_SINCE = (5, 19)
# Of the same table of the kernel, which other network namespaces than the first do not have.
_BESIDE = "net.core.netdev_budget"


def not_deferred(capture: Capture) -> str | None:
    # Why there is nothing to switch off: "off", "no such setting", "old kernel"; None where there
    # is, or may be.
    bundle = capture.bundle
    listed = parse_sysctls(bundle.text("before/settings/sysctl_net_core") or "") if bundle else {}
    chosen = (bundle and bundle.manifest.host.sysctls) or {}
    setting = listed.get(_SYSCTL, chosen.get(_SYSCTL))
    if setting is not None:
        return "off" if str(setting).strip() == "0" else None
    if _BESIDE in listed:
        return "no such setting"
    release = re.match(r"(\d{1,4})\.(\d{1,4})", str(capture.info["kernel"] or ""))
    old = release is not None and tuple(map(int, release.groups())) < _SINCE
    return "old kernel" if old else None
