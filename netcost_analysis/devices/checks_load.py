# Suspicions from counters of full queues and drops, and from how queues share the packets.

from collections.abc import Iterator

import pandas as pd

from ..units import share
from .checks import ENOUGH_PACKETS, Flag, Row, flagged, number

# Losses of more than one packet in a thousand are no accident.
_LOSSES_SHARE = 0.001
_SATURATED_SHARE = 0.9


def saturated(row: Row, rows: list[Row]) -> Iterator[Flag]:
    """It carried as much as its link can."""
    peak = row.get("peak_share")
    if peak is None or peak < _SATURATED_SHARE or row.get("speed_is_nominal"):
        return
    yield flagged(
        row,
        "saturated",
        "warning",
        f"{row['device']} carried {share(peak)} of its {row['speed_bits_per_s'] / 1e9:g} Gbit/s "
        "in its busiest interval",
    )


def _grown(saturation: pd.DataFrame, row: Row, *layers: str) -> list[tuple[str, int]]:
    if not len(saturation):
        return []
    of = saturation[
        saturation["layer"].isin(layers)
        & (saturation["device"] == row["device"])
        & (saturation["namespace"] == row["namespace"])
        & (saturation["count"] > 0).fillna(False).astype(bool)
    ]
    return [(str(name), int(count)) for name, count in zip(of["counter"], of["count"], strict=True)]


def dropped(row: Row, saturation: pd.DataFrame) -> Iterator[Flag]:
    """net/dev counted packets that were dropped."""
    grown = _grown(saturation, row, "interface")
    if not grown:
        return
    packets = number(row, "rx_packets") + number(row, "tx_packets")
    total = sum(count for _, count in grown)
    listed = ", ".join(f"{name} {count:,}" for name, count in grown)
    part = f": {share(total / packets)} of {packets:,} packets" if packets else ""
    yield flagged(
        row,
        "drops",
        "warning" if not packets or total >= _LOSSES_SHARE * packets else "note",
        f"{row['device']} counted {listed}{part}; rx_drop also counts what nobody on the host "
        "listens for",
    )


def full(row: Row, saturation: pd.DataFrame) -> Iterator[Flag]:
    """The driver's or the qdisc's counters of full queues grew."""
    grown = [
        (name, count)
        for name, count in _grown(saturation, row, "driver", "qdisc")
        if name not in ("backlog", "qlen")
    ]
    if not grown:
        return
    listed = ", ".join(f"{name} {count:,}" for name, count in grown[:4])
    more = f" and {len(grown) - 4} more" if len(grown) > 4 else ""
    yield flagged(row, "queue-full", "clue", f"{row['device']}: {listed}{more} (ethtool -S, tc -s)")


def uneven(row: Row, queues: pd.DataFrame) -> Iterator[Flag]:
    """One of several receive queues has most of the packets."""
    if not len(queues):
        return
    packets = queues.loc[queues["device"] == row["device"], "packets"]
    count = max(row.get("rx_queues") or 0, len(packets))
    total = int(packets.sum())
    if count < 2 or total < 10 * ENOUGH_PACKETS:
        return
    most = float(packets.max() / total)
    if most < 1.5 / count or most - 1 / count < 0.2:
        return
    yield flagged(
        row,
        "uneven-queues",
        "note",
        f"of {count} receive queues of {row['device']} one had {share(most)} of {total:,} packets, "
        f"{share(1 / count)} would be even; one flow always goes to one queue",
    )


def softnet(saturation: pd.DataFrame) -> Iterator[Flag]:
    """A CPU's backlog was full, or it stopped polling with packets left."""
    if not len(saturation):
        return
    of = saturation[(saturation["layer"] == "softnet")]
    of = of[(of["count"] > 0).fillna(False).astype(bool)]
    for row in of.to_dict("records"):
        count, cpu = int(row["count"]), int(row["cpu"])
        if row["counter"] == "dropped":
            yield Flag(
                None,
                None,
                "backlog-full",
                "warning",
                f"CPU {cpu} dropped {count:,} packets because its backlog was full "
                "(net.core.netdev_max_backlog)",
            )
        elif row["counter"] == "time_squeeze":
            yield Flag(
                None,
                None,
                "squeezed",
                "note",
                f"CPU {cpu} stopped polling {count:,} times with packets left (time_squeeze): the "
                "softirq came back for them, by ksoftirqd perhaps, which costs delay and no packet",
            )
        elif row["counter"] == "flow_limit_count":
            yield Flag(
                None,
                None,
                "flow-limited",
                "warning",
                f"CPU {cpu} dropped {count:,} packets of flows that filled its backlog "
                "(flow_limit_count)",
            )
