# Whether the two loaded runs of a calibration had the same load: else what the victim lost to the
# one and not to the other is not all tracing's.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

if TYPE_CHECKING:
    from ...capture.bundle import Bundle

# Further apart than this, what a packet costs is no constant either: batches grow with the rate.
_MAX_APART = 0.2
_WORTH_SAYING = 0.005


class Rate(NamedTuple):
    # A second, at least and at most, for nobody knows when within its reading a counter was read.
    low: float
    high: float

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2


class Load(NamedTuple):
    # None where it was not counted, or never grew.
    packets: Rate | None
    net_rx: Rate | None


class Compared(NamedTuple):
    # low, high: by how much the traced run's load may have differed from the untraced one's, as a
    # share of the latter; 0 lies between. refused: why the two are not comparable, "loads unknown"
    # or "loads differ", else None. differ: the rates that do.
    low: float
    high: float
    refused: str | None
    differ: "list[Rates]"


class Rates(NamedTuple):
    # A second, of either run.
    what: str
    untraced: float
    traced: float


def load_of(bundle: "Bundle", cpu: int | None) -> Load:
    """What a run's counters say of its load: on the victim's CPU, or where that had none, on all.

    cpu: the victim's, None where it was not pinned.
    """
    before, after = bundle.before, bundle.after
    packets: Any = pd.Series(dtype=float)
    net_rx: Any = pd.Series(dtype=float)
    if "processed" in before.softnet_stat and "processed" in after.softnet_stat:
        packets = after.softnet_stat["processed"] - before.softnet_stat["processed"]
    if "NET_RX" in before.softirqs.index and "NET_RX" in after.softirqs.index:
        net_rx = after.softirqs.loc["NET_RX"] - before.softirqs.loc["NET_RX"]
    return Load(
        _rate(bundle, "net_softnet_stat", packets, cpu), _rate(bundle, "softirqs", net_rx, cpu)
    )


def _rate(bundle: "Bundle", file: str, growth: "pd.Series[float]", cpu: int | None) -> Rate | None:
    first, last = bundle.before.reads.get(file), bundle.after.reads.get(file)
    growth = growth.dropna()
    if first is None or last is None or last[0] <= first[1] or (growth < 0).any():
        return None
    own = float(growth.get(cpu, 0.0))
    count = own or float(growth.sum())
    if not count:
        return None
    return Rate(count / (last[1] - first[0]) * 1e9, count / (last[0] - first[1]) * 1e9)


def compared(untraced: Load, traced: Load) -> Compared:
    """How the loads of the two runs differ, and whether they can be compared at all."""
    pairs = [
        (what, first, second)
        for what, first, second in (
            ("packets/s", untraced.packets, traced.packets),
            ("NET_RX/s", untraced.net_rx, traced.net_rx),
        )
        if first and second
    ]
    if not pairs:
        return Compared(0.0, 0.0, "loads unknown", [])
    ends = [0.0]
    for _, first, second in pairs:
        ends += [second.low / first.high - 1, second.high / first.low - 1]
    # The load is packets; in how many softirqs they came may be tracing's own doing.
    refused = "loads differ" if _apart(*pairs[0][1:]) > _MAX_APART else None
    differ = [
        Rates(what, first.middle, second.middle)
        for what, first, second in pairs
        if _apart(first, second) >= _WORTH_SAYING
    ]
    return Compared(min(ends), max(ends), refused, differ)


def _apart(first: Rate, second: Rate) -> float:
    return 1 - min(first.middle, second.middle) / max(first.middle, second.middle)
