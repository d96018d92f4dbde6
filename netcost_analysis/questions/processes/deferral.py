# Whether a kernel defers the freeing of packets to the CPU that allocated them.

import re

import pandas as pd

from ...capture.capture import Capture
from ...parsers.settings import parse_sysctls
from ...timeline.owners import of_tasks
from ...timeline.reading import in_window
from ...timeline.timeline import Timeline
from .endpoints import endpoints
from .recorded import FREED, stream, told

_SYSCTL = "net.core.skb_defer_max"
# 68822bdf76f1 and the sysctl, 39564c3fdc66. Distributors port back: a list of settings tells more.
_SINCE = (5, 19)
# Of the same table of the kernel, which other network namespaces than the first do not have.
_BESIDE = "net.core.netdev_budget"
# Of fewer packets nothing is said, and a few per cent may be freed by anybody.
_FEW, _MOST = 100, 0.05


def limit_of(capture: Capture) -> int | None:
    # How many packets may wait for the CPU that allocated them; None where that is not known.
    setting = _settings(capture).get(_SYSCTL, "")
    return int(setting) if re.fullmatch(r"\d{1,10}", setting) else None


def _settings(capture: Capture) -> dict[str, str]:
    bundle = capture.bundle
    if bundle is None:
        return {}
    chosen = {name: str(value) for name, value in (bundle.manifest.host.sysctls or {}).items()}
    return {**chosen, **parse_sysctls(bundle.text("before/settings/sysctl_net_core") or "")}


def is_stuck(timeline: Timeline, frees: pd.DataFrame) -> bool:
    # Whether the limit says that frees are deferred, and the reader on another CPU than the sender
    # made all of them. frees: as skb_frees() has them.
    if (limit_of(timeline.capture) or 0) <= 1 or timeline.cpus is not None:
        return False
    pair = endpoints(timeline)
    if not pair:
        return False
    rows = of_tasks(timeline.sums())
    own = rows[rows["context"] == "task"]
    client, server = ({*own.loc[own["tid"] == tid, "cpu"]} for tid in pair)
    read = frees[(frees["side"] == "server") & (frees["context"] == "task")]
    count = int(read["frees"].sum())
    if count < _FEW or client & server:
        return False
    left = int(frees.loc[frees["context"].isin(["softirq", "hardirq"]), "frees"].sum())
    # What is dropped in a softirq is freed there.
    return left - _dropped(timeline) <= _MOST * count


def _dropped(timeline: Timeline) -> int:
    # Packets dropped in softirqs; 0 where drops were not recorded.
    if FREED not in told(timeline.capture):
        return 0
    count = 0
    for tables in stream(timeline.capture, [FREED]):
        frame = tables[FREED]
        inside = frame["in_softirq"].fillna(False) | frame["in_hardirq"].fillna(False)
        count += int((inside.astype(bool) & in_window(frame["time_ns"], timeline)).sum())
    return count


def not_deferred(capture: Capture) -> str | None:
    # Why there is nothing to switch off: "off", "no such setting", "old kernel"; None where there
    # is, or may be.
    settings = _settings(capture)
    if _SYSCTL in settings:
        return "off" if settings[_SYSCTL].strip() == "0" else None
    # The manifest has few of them.
    bundle = capture.bundle
    if bundle and _BESIDE in parse_sysctls(bundle.text("before/settings/sysctl_net_core") or ""):
        return "no such setting"
    release = re.match(r"(\d{1,4})\.(\d{1,4})", str(capture.info["kernel"] or ""))
    old = release is not None and tuple(map(int, release.groups())) < _SINCE
    return "old kernel" if old else None
