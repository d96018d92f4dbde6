# What each interface carried in all: nicstat's columns, of the whole recording.

from contextlib import suppress
from typing import TYPE_CHECKING

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...capture.links import empty, known_interfaces
from .device_traffic import carried, with_traffic

if TYPE_CHECKING:
    from ...capture.bundle import Bundle


@question(
    check=lambda bundle: carried(bundle),
    columns=(
        *("device", "rx_packets_per_s", "tx_packets_per_s", "rx_mbit_per_s", "tx_mbit_per_s"),
        *("rx_packet_bytes", "utilisation_share", "saturation_per_s"),
    ),
    rows=20,
)
def device_totals(bundle: "Bundle", folder: str = "samples", sides: bool = True) -> Answer:
    """What each interface received and sent in all, from the first reading of net/dev to the last.

    A row per interface, the one that received most first. folder and sides are those of
    device_traffic. Source: device_traffic.
    """
    rows = carried(bundle, folder, sides, whole=True)
    for side in ("rx", "tx"):
        rows[f"{side}_mbit_per_s"] = rows[f"{side}_bytes_per_s"] * 8e-6
    rows = rows.sort_values("rx_bytes", ascending=False, kind="stable", ignore_index=True)
    known = empty()
    with suppress(CaptureError):
        # That files of ip's are damaged is said by device_flags.
        known = known_interfaces(bundle)
    is_nominal = known["speed_is_nominal"].fillna(False).astype(bool)
    nominal = with_traffic(rows).merge(known.loc[is_nominal, ["namespace", "device"]])
    return Answer(rows, nominal_devices=list(map(str, nominal["device"])))
