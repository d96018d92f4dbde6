# Suspicions from counters of full queues and drops, and from how queues share the packets.

from collections.abc import Iterator

import pandas as pd

from ...units import share
from ..words import count
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
    return [(str(name), int(grew)) for name, grew in zip(of["counter"], of["count"], strict=True)]


def dropped(row: Row, saturation: pd.DataFrame) -> Iterator[Flag]:
    """net/dev counted packets that were dropped."""
    grown = _grown(saturation, row, "interface")
    if not grown:
        return
    packets = number(row, "all_rx_packets") + number(row, "all_tx_packets")
    total = sum(grew for _, grew in grown)
    listed = ", ".join(f"{name} {grew:,}" for name, grew in grown)
    part = f": {share(total / packets)} of {count(packets, 'packet')}" if packets else ""
    yield flagged(
        row,
        "drops",
        "warning" if not packets or total >= _LOSSES_SHARE * packets else "note",
        f"{row['device']} counted {listed}{part}"
        + (
            "; rx_drop also counts what nobody on the host listens for"
            if grown[0][0] == "rx_drop" or len(grown) > 1
            else ""
        ),
    )


def full(row: Row, saturation: pd.DataFrame) -> Iterator[Flag]:
    """The driver's or the qdisc's counters of full queues grew."""
    for layer, tool in (("driver", "ethtool -S"), ("qdisc", "tc -s qdisc")):
        grown = [
            (name, grew)
            for name, grew in _grown(saturation, row, layer)
            if name not in ("backlog", "qlen")
        ]
        if not grown:
            continue
        listed = ", ".join(f"{name} {grew:,}" for name, grew in grown[:4])
        more = f" and {len(grown) - 4} more" if len(grown) > 4 else ""
        # A shaper's overlimits and a driver's "later" (requeues) are waits, not losses.
        waits = all(name.endswith(("overlimits", "requeues")) for name, _ in grown)
        yield flagged(
            row,
            "queue-full",
            "note" if waits else "clue",
            f"the {layer} of {row['device']} counted {listed}{more} ({tool})"
            + ("; such packets wait, and none is lost" if waits else ""),
        )


def uneven(row: Row, queues: pd.DataFrame) -> Iterator[Flag]:
    """One of several receive queues has most of the packets."""
    if not len(queues):
        return
    packets = queues.loc[queues["device"] == row["device"], "packets"]
    known = row.get("rx_queues")
    lanes = known or len(packets)
    total = int(packets.sum())
    # More than it has are those of a namesake in another namespace, or of what it was before.
    if lanes < max(2, len(packets)) or total < 10 * ENOUGH_PACKETS:
        return
    most = float(packets.max() / total)
    if most < 1.5 / lanes or most - 1 / lanes < 0.2:
        return
    yield flagged(
        row,
        "uneven-queues",
        "note",
        f"of {lanes} receive queues of {row['device']} one had {share(most)} of {total:,} packets, "
        f"{share(1 / lanes)} would be even; one flow always goes to one queue",
    )


def softnet(saturation: pd.DataFrame) -> Iterator[Flag]:
    """A CPU's backlog was full, or it stopped polling with packets left."""
    if not len(saturation):
        return
    of = saturation[(saturation["layer"] == "softnet")]
    of = of[(of["count"] > 0).fillna(False).astype(bool)]
    for row in of.to_dict("records"):
        grew, cpu = int(row["count"]), int(row["cpu"])
        if row["counter"] == "dropped":
            yield Flag(
                None,
                None,
                "backlog-full",
                "warning",
                f"CPU {cpu} dropped {count(grew, 'packet')} because its backlog was full "
                "(net.core.netdev_max_backlog)",
            )
        elif row["counter"] == "time_squeeze":
            yield Flag(
                None,
                None,
                "squeezed",
                "note",
                f"CPU {cpu} stopped polling {count(grew, 'time')} with packets left "
                "(time_squeeze): the softirq came back for them, by ksoftirqd perhaps, which "
                "costs delay and no packet",
            )
        elif row["counter"] == "flow_limit_count":
            yield Flag(
                None,
                None,
                "flow-limited",
                "warning",
                f"CPU {cpu} dropped {count(grew, 'packet')} of flows that filled its backlog "
                "(flow_limit_count)",
            )
