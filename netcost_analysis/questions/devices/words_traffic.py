# What the notebook on devices says of traffic: what was carried, and how intervals mislead.

from typing import TYPE_CHECKING

import pandas as pd

from ...units import absent, duration, mbit, share
from ..words import filled
from .device_traffic import in_mbit, moved

if TYPE_CHECKING:
    from ...capture.bundle import Bundle


# nicstat's columns, of the whole recording.
TOTALS = {
    "device": "device",
    "rx_packets_per_s": "received/s",
    "tx_packets_per_s": "sent/s",
    "rx_mbit_per_s": "Mbit/s in",
    "tx_mbit_per_s": "Mbit/s out",
    "rx_packet_bytes": "bytes in",
    "tx_packet_bytes": "bytes out",
    "utilisation_share": "utilised",
    "saturation_per_s": "saturation/s",
}


def totals(traffic: pd.DataFrame) -> pd.DataFrame:
    """The columns of TOTALS of interfaces that carried anything.

    traffic: as device_traffic(whole=True) returns it.
    """
    frame = moved(traffic).sort_values("rx_bytes", ascending=False, kind="stable")
    return in_mbit(frame)[list(TOTALS)].reset_index(drop=True)


def nominal_text(traffic: pd.DataFrame, known: pd.DataFrame) -> str:
    """Of which interfaces the utilisation is of a speed that no hardware has.

    known: as interfaces() returns it.
    """
    nominal = known[known["speed_is_nominal"].fillna(False)]
    pairs = set(zip(nominal["namespace"], nominal["device"], strict=True))
    of = moved(traffic)
    names = [
        str(device)
        for namespace, device in zip(of["namespace"], of["device"], strict=True)
        if (namespace, device) in pairs
    ]
    if not names:
        return ""
    return filled(
        "<p>The speed of {names} is nominal: a driver without hardware below it says one, and "
        "the utilisation is of that.</p>",
        names=", ".join(names),
    )


def folder_of(bundle: "Bundle") -> str:
    """Where the samples are that were taken at the most uneven intervals: of a load's, if any."""
    return "files" if bundle.text("files/net_dev") else "samples"


def misread_text(rows: pd.DataFrame, interval_s: float) -> str:
    """What uneven intervals do to a tool that does not measure them.

    rows: as assumed_rates returns it.
    """
    busy = moved(rows, "bytes_per_s")
    if not len(busy):
        return "<p>Nothing was carried between two samples.</p>"
    worst = busy.iloc[int(busy["overstated_share"].abs().to_numpy(dtype=float).argmax())]
    true, assumed = worst["rx_bytes_per_s"], worst["assumed_rx_bytes_per_s"]
    shown = [mbit(one) for one in (true, assumed)]
    if not absent(worst["utilisation_share"]):
        pair = (worst["utilisation_share"], worst["assumed_utilisation_share"])
        shown = [f"{text} ({share(one)})" for text, one in zip(shown, pair, strict=True)]
    spans = rows["interval_ns"]
    return filled(
        "<p>The samples are {shortest} to {longest} apart. A tool that takes each interval for "
        "{asked} s is wrong by as much, at worst for <b>{device}</b>: it shows {assumed} received, "
        "where it was {true}.</p>",
        shortest=duration(spans.min()),
        longest=duration(spans.max()),
        asked=f"{interval_s:g}",
        device=worst["device"],
        true=shown[0],
        assumed=shown[1],
    )
