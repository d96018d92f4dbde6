# What each interface carried in all: nicstat's columns, of the whole recording.

from contextlib import suppress
from typing import TYPE_CHECKING

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...capture.links import empty, known_interfaces
from .device_traffic import carried, with_traffic

if TYPE_CHECKING:
    from ...answers.answer import Answer
    from ...capture.bundle import Bundle


@question(
    check=lambda bundle: carried(bundle),
    columns=(
        "device",
        "rx_packets_per_s",
        "tx_packets_per_s",
        "rx_mbit_per_s",
        "tx_mbit_per_s",
        "rx_packet_bytes",
        "utilisation_share",
        "saturation_per_s",
    ),
    rows=20,
)
def device_totals(bundle: "Bundle", folder: str = "samples", sides: bool = True) -> pd.DataFrame:
    """What each interface received and sent in all, from the first reading of net/dev to the last.

    - folder: Where the samples are; "files" where a load left some.
    - sides: Whether before/ and after/ are readings as well.

    A row per (namespace, device), the one that received most first: the columns of device_traffic,
    rx_mbit_per_s and tx_mbit_per_s.

    Source: device_traffic.
    """
    rows = carried(bundle, folder, sides, whole=True)
    for side in ("rx", "tx"):
        rows[f"{side}_mbit_per_s"] = rows[f"{side}_bytes_per_s"] * 8e-6
    return rows.sort_values("rx_bytes", ascending=False, kind="stable", ignore_index=True)


@device_totals.figures
def _nominal(answer: "Answer") -> dict[str, list[str]]:
    # nominal: interfaces that carried something, and whose speed is only what a driver says.
    of, known = with_traffic(answer.frame), empty()
    with suppress(CaptureError):
        # Of damaged files of ip's device_flags says so.
        known = known_interfaces(answer.sources["Bundle"])
    nominal = known.loc[
        known["speed_is_nominal"].fillna(False).astype(bool), ["namespace", "device"]
    ]
    both = of.merge(nominal, on=["namespace", "device"])
    return {"nominal": [str(device) for device in both["device"]]}
