# Suspicions from counters of full queues and drops, and from how queues share the packets.

from collections.abc import Iterator

import pandas as pd

from .checks import ENOUGH_PACKETS, Flag, Row, flagged, number, severity_of

_SATURATED_SHARE = 0.9
# The most counters named.
_MAX_NAMED = 4
# Counters of softnet_stat: flag and severity.
_SOFTNET = {
    "dropped": ("backlog-full", "warning"),
    "time_squeeze": ("squeezed", "note"),
    "flow_limit_count": ("flow-limited", "warning"),
}


def saturated(row: Row, rows: list[Row]) -> Iterator[Flag]:
    # It carried as much as its link can.
    peak = row.get("peak_share")
    if peak is None or peak < _SATURATED_SHARE or row.get("speed_is_nominal"):
        return
    gbit_per_s = row["speed_bits_per_s"] / 1e9
    yield flagged(row, "saturated", "warning", peak_share=peak, speed_gbit_per_s=gbit_per_s)


def _grown(saturation: pd.DataFrame, row: Row, layer: str) -> list[tuple[str, int]]:
    if not len(saturation):
        return []
    grown = saturation[
        (saturation["layer"] == layer)
        & (saturation["device"] == row["device"])
        & (saturation["namespace"] == row["namespace"])
        & (saturation["count"] > 0).fillna(False)
    ]
    return list(zip(map(str, grown["counter"]), map(int, grown["count"]), strict=True))


def dropped(row: Row, saturation: pd.DataFrame) -> Iterator[Flag]:
    # net/dev counted packets that were dropped.
    grown = _grown(saturation, row, "interface")
    if not grown:
        return
    packets = number(row, "all_rx_packets") + number(row, "all_tx_packets")
    severity, dropped_share = severity_of(sum(grew for _, grew in grown), packets)
    yield flagged(
        row,
        "drops",
        severity,
        counters=grown,
        packets=packets,
        dropped_share=dropped_share,
        has_rx_drop=any(name == "rx_drop" for name, _ in grown),
    )


def full(row: Row, saturation: pd.DataFrame) -> Iterator[Flag]:
    # The driver's or the qdisc's counters of full queues grew.
    for layer, tool in (("driver", "ethtool -S"), ("qdisc", "tc -s qdisc")):
        grown = [
            (name, grew)
            for name, grew in _grown(saturation, row, layer)
            if name not in ("backlog", "qlen")
        ]
        if not grown:
            continue
        # Packets of a shaper's overlimits, and requeued ones, wait and are not lost.
        waits = all(name.endswith(("overlimits", "requeues")) for name, _ in grown)
        yield flagged(
            row,
            "queue-full",
            "note" if waits else "clue",
            layer=layer,
            tool=tool,
            counters=grown[:_MAX_NAMED],
            more=len(grown[_MAX_NAMED:]),
            waits=waits,
        )


def uneven(row: Row, queues: pd.DataFrame) -> Iterator[Flag]:
    # One of several receive queues has most of the packets.
    if not len(queues):
        return
    packets = queues.loc[queues["device"] == row["device"], "packets"]
    count = row.get("rx_queues") or len(packets)
    total = int(packets.sum())
    # More than it has: some are of another namespace's device of that name, or of a former one.
    if count < max(2, len(packets)) or total < 10 * ENOUGH_PACKETS:
        return
    most_share, even_share = float(packets.max() / total), 1 / count
    if most_share < 1.5 * even_share or most_share - even_share < 0.2:
        return
    yield flagged(
        row,
        "uneven-queues",
        "note",
        queues=count,
        packets=total,
        most_share=most_share,
        even_share=even_share,
    )


def softnet(saturation: pd.DataFrame) -> Iterator[Flag]:
    # A CPU's backlog was full, or it stopped polling with packets left.
    if not len(saturation):
        return
    grown = (saturation["layer"] == "softnet") & (saturation["count"] > 0).fillna(False)
    for row in saturation[grown].to_dict("records"):
        if row["counter"] in _SOFTNET:
            flag, severity = _SOFTNET[row["counter"]]
            figures = {"cpu": int(row["cpu"]), "count": int(row["count"])}
            yield Flag(None, None, flag, severity, figures)
