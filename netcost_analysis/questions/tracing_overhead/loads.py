# Whether the two loaded runs of a calibration had the same load. If not, the difference between
# them is not all due to tracing.

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

    from ...capture.bundle import Bundle

# Loads that differ by more are not compared: batches grow with the rate, so a packet costs less.
_MAX_APART = 0.2
_WORTH_SAYING = 0.005


class Rate(NamedTuple):
    # Per second, at least and at most: a counter is read at some moment within its reading.
    low: float
    high: float

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2


# By what was counted, "packets/s" first. Counters that are missing or did not grow are left out.
Load = dict[str, Rate]


class Compared(NamedTuple):
    # low, high: how much more load the traced run may have had, as a share of the untraced run's; 0
    # lies between. refused: why they cannot be compared, "loads unknown" or "loads differ", else
    # None. differ: the rates that differ, of both runs.
    low: float
    high: float
    refused: str | None
    differ: list[dict[str, Any]]


ALIKE = Compared(0.0, 0.0, None, [])


def load_of(bundle: "Bundle", cpu: int | None) -> Load:
    """What a run's counters say of its load: on the victim's CPU, or where that had none, on all.

    cpu: the victim's, None where it was not pinned.
    """
    sides = bundle.before, bundle.after
    processed = [side.softnet_stat.get("processed") for side in sides]
    net_rx = [side.softirqs.T.get("NET_RX") for side in sides]
    rates = {
        "packets/s": _rate(bundle, "net_softnet_stat", processed, cpu),
        "NET_RX/s": _rate(bundle, "softirqs", net_rx, cpu),
    }
    return {what: rate for what, rate in rates.items() if rate}


def _rate(
    bundle: "Bundle", file: str, counts: "list[pd.Series[float] | None]", cpu: int | None
) -> Rate | None:
    # counts: by CPU, before and after.
    before, after = counts
    first, last = bundle.before.reads.get(file), bundle.after.reads.get(file)
    if before is None or after is None or first is None or last is None or last[0] <= first[1]:
        return None
    growth = (after - before).dropna()
    if (growth < 0).any():
        return None
    count = float(growth.get(cpu, 0.0)) or float(growth.sum())
    if not count:
        return None
    return Rate(count / (last[1] - first[0]) * 1e9, count / (last[0] - first[1]) * 1e9)


def compared(untraced: Load, traced: Load) -> Compared:
    """How the loads of the two runs differ, and whether they can be compared at all."""
    pairs = {what: (rate, traced[what]) for what, rate in untraced.items() if what in traced}
    if not pairs:
        return ALIKE._replace(refused="loads unknown")
    ends = [0.0]
    for first, second in pairs.values():
        ends += [second.low / first.high - 1, second.high / first.low - 1]
    # The load is packets. Tracing itself may change in how many softirqs they come.
    refused = "loads differ" if _apart(*next(iter(pairs.values()))) > _MAX_APART else None
    differ = [
        {"what": what, "untraced": first.middle, "traced": second.middle}
        for what, (first, second) in pairs.items()
        if _apart(first, second) >= _WORTH_SAYING
    ]
    return Compared(min(ends), max(ends), refused, differ)


def _apart(first: Rate, second: Rate) -> float:
    return 1 - min(first.middle, second.middle) / max(first.middle, second.middle)
