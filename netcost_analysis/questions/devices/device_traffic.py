# What interfaces carried, over the true time between two readings of their counters.

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...capture.links import queue_settings
from ...errors import ArgumentError
from ...parsers.counters import counters, deltas
from ..question import question

if TYPE_CHECKING:
    from ...capture.bundle import Bundle
    from ...timeline.timeline import Timeline

# Of the traces' clocks the one that the bundle's snapshots are stamped with.
_CLOCKS = ("mono", "monotonic")
# Of net/dev; the others count what no driver does any more.
GROWN = [
    *("rx_bytes", "rx_packets", "tx_bytes", "tx_packets"),
    *("rx_errs", "rx_drop", "rx_fifo", "rx_frame", "rx_multicast"),
    *("tx_errs", "tx_drop", "tx_fifo", "tx_colls", "tx_carrier"),
]
_RATES = ["rx_bytes", "rx_packets", "tx_bytes", "tx_packets"]
# What nicstat calls saturation, in Linux's counters.
_SATURATION = ["rx_drop", "rx_fifo", "tx_drop", "tx_fifo", "tx_colls"]
_WHERE = ["namespace", "device", "start_ns", "end_ns", "interval_ns", "interval_error_ns"]
COLUMNS = [
    *_WHERE,
    *GROWN,
    *(f"{name}_per_s" for name in _RATES),
    *("rx_packet_bytes", "tx_packet_bytes", "saturation_per_s"),
    *("speed_bits_per_s", "utilisation_share"),
]


class NoReadingsError(CaptureError):
    """Of the stretch that was asked for the bundle has no two readings of net/dev."""


def comparable(timeline: "Timeline") -> bool:
    """Whether the trace's clock is that of the snapshots, CLOCK_MONOTONIC."""
    return str(timeline.capture.header["clock"]) in _CLOCKS


@question(
    main_columns=(
        "device",
        "start_ns",
        "rx_bytes_per_s",
        "tx_bytes_per_s",
        "utilisation_share",
        "namespace",
    )
)
def device_traffic(
    bundle: "Bundle",
    folder: str = "samples",
    whole: bool = False,
    sides: bool = True,
    within: tuple[int, int] | None = None,
) -> pd.DataFrame:
    """What each interface received and sent, over the true time between readings of net/dev.

    folder: where the samples are; "files" where a load left some. whole: a row per interface, from
    the first reading to the last, instead of one per interval. sides: whether before/ and after/
    are readings as well. within: only readings between these moments (CLOCK_MONOTONIC, ns), their
    own time included. Returns a row per interval and (namespace, device): start_ns, end_ns,
    interval_ns, interval_error_ns, the growth of each counter (Int64), rates per second, the mean
    size of packets, saturation_per_s, speed_bits_per_s and utilisation_share (Float64, NA where
    unknown). Raises CaptureError where net/dev was not read twice at known times.
    """
    frames = []
    for namespace, ending in bundle.network_namespaces.items():
        counted = counters(bundle, f"net_dev{ending}", folder, sides)
        if within is not None:
            inside = (counted["begin_ns"] >= within[0]) & (counted["end_ns"] <= within[1])
            counted = counted[inside]
        grown = deltas(counted)
        if len(grown):
            grown.insert(0, "namespace", namespace)
            frames.append(grown if not whole else summed(grown))
    if not frames:
        raise NoReadingsError(
            "the bundle has no two readings of net/dev at known times, so what its interfaces "
            "carried is unknown: netcost-record keeps them"
        )
    return rated(pd.concat(frames, ignore_index=True), speeds(bundle))


def summed(grown: pd.DataFrame) -> pd.DataFrame:
    """Growth between each two readings as growth from the first to the last, per interface.

    grown: as deltas() returns it, with namespace. A counter that went backwards in between is NA.
    """
    keys = ["namespace", "device"]
    # A reading's own time is an error at the two ends only.
    frame = grown.sort_values("start_ns", kind="stable").groupby(keys, sort=False, as_index=False)
    ends = frame.agg(
        start_ns=("start_ns", "first"),
        end_ns=("end_ns", "last"),
        first_ns=("interval_error_ns", "first"),
        last_ns=("interval_error_ns", "last"),
        rows=("start_ns", "size"),
    )
    ends["interval_ns"] = ends["end_ns"] - ends["start_ns"]
    both = ends["first_ns"] + ends["last_ns"]
    ends["interval_error_ns"] = both.where(ends["rows"] > 1, ends["first_ns"])
    values = [name for name in GROWN if name in grown]
    sums = frame[values].sum(min_count=1)
    lacking = grown[values].isna().groupby([grown[key] for key in keys]).any()
    ends = ends.merge(sums, on=keys)
    index = pd.MultiIndex.from_frame(ends[keys])
    ends[values] = ends[values].astype("Int64").mask(lacking.loc[index].to_numpy())
    return ends


def rated(grown: pd.DataFrame, speed: dict[tuple[str, str], int | None]) -> pd.DataFrame:
    """Growth with rates, sizes, saturation and utilisation beside it.

    grown: namespace, device, start_ns, end_ns, interval_ns, interval_error_ns and counters' growth.
    speed: bits per second of (namespace, device).
    """
    frame = grown.reindex(columns=[*_WHERE, *GROWN]).reset_index(drop=True)
    frame[GROWN] = frame[GROWN].astype("Int64")
    seconds = (frame["interval_ns"] / 1e9).where(frame["interval_ns"] > 0).astype("Float64")
    for name in _RATES:
        frame[f"{name}_per_s"] = frame[name].astype("Float64") / seconds
    for side in ("rx", "tx"):
        packets = frame[f"{side}_packets"].astype("Float64")
        frame[f"{side}_packet_bytes"] = frame[f"{side}_bytes"].astype("Float64") / packets.mask(
            packets <= 0
        )
    lost = frame[_SATURATION].astype("Float64").sum(axis=1, min_count=len(_SATURATION))
    frame["saturation_per_s"] = lost / seconds
    pairs = zip(frame["namespace"], frame["device"], strict=True)
    frame["speed_bits_per_s"] = pd.array([speed.get(pair) for pair in pairs], dtype="Int64")
    frame["utilisation_share"] = _busier(frame) * 8 / frame["speed_bits_per_s"].astype("Float64")
    frame = frame.sort_values(["start_ns", "namespace", "device"], kind="stable")
    return frame[COLUMNS].reset_index(drop=True)


def _busier(frame: pd.DataFrame) -> "pd.Series[float]":
    # Bytes per second of the busier direction: a full duplex link can have both.
    rates = frame[["rx_bytes_per_s", "tx_bytes_per_s"]]
    return rates.max(axis=1, skipna=False).astype("Float64")


def speeds(bundle: "Bundle") -> dict[tuple[str, str], int | None]:
    """Bits per second of each (namespace, device), None where unknown or changed meanwhile."""
    found: dict[tuple[str, str], int | None] = {}
    for namespace, ending in bundle.network_namespaces.items():
        sides = [
            queue_settings(bundle.text(f"{side}/settings/queues{ending}") or "")
            for side in ("before", "after")
        ]
        for device in {name for side in sides for name in side}:
            said = {side[device].get("speed_bits_per_s") for side in sides if device in side}
            found[namespace, device] = said.pop() if len(said) == 1 else None
    return found


@question(
    main_columns=(
        "device",
        "start_ns",
        "overstated_share",
        "utilisation_share",
        "namespace",
        "interval_ns",
    )
)
def assumed_rates(
    bundle: "Bundle", interval_s: float = 1.0, folder: str = "samples"
) -> pd.DataFrame:
    """What a tool would have said that takes its interval for the one it asked for.

    interval_s: the interval it assumes. folder: as device_traffic takes it; only samples count, not
    before/ and after/. Returns a row per interval and (namespace, device): start_ns, end_ns,
    interval_ns, rx_bytes_per_s, tx_bytes_per_s, utilisation_share, and beside them
    assumed_rx_bytes_per_s, assumed_tx_bytes_per_s, assumed_utilisation_share, and overstated_share:
    by how much every rate was too high (0.7 is 70 %, negative too low). Raises CaptureError as
    device_traffic does, ValueError for an interval of no length.
    """
    if not interval_s > 0 or not np.isfinite(interval_s):
        raise ArgumentError(f"an interval of {interval_s} s has no rate")
    frame = device_traffic(bundle, folder, sides=False)
    factor = (frame["interval_ns"] / (interval_s * 1e9)).astype("Float64")
    kept = ["namespace", "device", "start_ns", "end_ns", "interval_ns"]
    shown = ["rx_bytes_per_s", "tx_bytes_per_s", "utilisation_share"]
    told = frame[[*kept, *shown]].copy()
    for name in shown:
        told[f"assumed_{name}"] = told[name] * factor
    told["overstated_share"] = factor - 1
    return told


def moved(rows: pd.DataFrame, what: str = "packets") -> pd.DataFrame:
    """Those rows of device_traffic() or assumed_rates() in which anything was carried."""
    return rows[(rows[f"rx_{what}"] + rows[f"tx_{what}"] > 0).fillna(False)]


def in_mbit(rows: pd.DataFrame) -> pd.DataFrame:
    """The same with rx_mbit_per_s and tx_mbit_per_s."""
    rates = {f"{side}_mbit_per_s": rows[f"{side}_bytes_per_s"] * 8e-6 for side in ("rx", "tx")}
    return rows.assign(**rates)
