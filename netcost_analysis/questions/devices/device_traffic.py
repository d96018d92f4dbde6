# Traffic of interfaces, over the true time between two readings of their counters: by interval, in
# all, and as a tool shows it that assumes its interval.

from contextlib import suppress

import numpy as np
import pandas as pd

from ... import plots
from ..._native import CaptureError
from ...answers.form import each
from ...answers.question import Answer, question
from ...capture.bundle import Bundle
from ...capture.interfaces import empty, known_interfaces
from ...display.tables import first_row
from ...errors import ArgumentError
from ...frames import most_first
from ...parsers.interfaces import queue_settings
from ...snapshots.counters import counters, deltas
from ...timeline.reading import bounds_of, once
from ..completeness.completeness import has_readings_clock

# Counters of net/dev that drivers still count.
_GROWN = [
    *("rx_bytes", "rx_packets", "tx_bytes", "tx_packets"),
    *("rx_errs", "rx_drop", "rx_fifo", "rx_frame", "rx_multicast"),
    *("tx_errs", "tx_drop", "tx_fifo", "tx_colls", "tx_carrier"),
]
_RATES = ["rx_bytes", "rx_packets", "tx_bytes", "tx_packets"]
# What nicstat calls saturation, in Linux's counters.
SATURATION = ["rx_drop", "rx_fifo", "tx_drop", "tx_fifo", "tx_colls"]
_WHERE = ["namespace", "device", "start_ns", "end_ns", "interval_ns", "interval_error_ns"]
_COLUMNS = [
    *_WHERE,
    *_GROWN,
    *(f"{name}_per_s" for name in _RATES),
    *("rx_packet_bytes", "tx_packet_bytes", "saturation_per_s"),
    *("speed_bits_per_s", "utilisation_share"),
]
# The interfaces that have a picture, those with most traffic.
_MOST = 3


class NoReadingsError(CaptureError):
    """The bundle has no two readings of net/dev in the window."""


@once
def traffic_of(
    bundle: Bundle,
    folder: str = "samples",
    sides: bool = True,
    whole: bool = False,
    within: tuple[int, int] | None = None,
) -> pd.DataFrame:
    # The rows of device_traffic; whole: a row per interface, from the first reading to the last.
    # within: only readings that lie between these times (CLOCK_MONOTONIC, ns).
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
            "carried is unknown: netcost-record saves them"
        )
    return _rated(pd.concat(frames, ignore_index=True), _speeds(bundle))


@question(
    check=lambda bundle: traffic_of(bundle),
    columns=(
        *("device", "start_ns", "rx_bytes_per_s", "tx_bytes_per_s", "utilisation_share"),
        "namespace",
    ),
    rows=0,
)
def device_traffic(bundle: Bundle, folder: str = "samples", sides: bool = True) -> Answer:
    """What each interface received and sent, over the true time between readings of net/dev.

    A row per interval and interface. folder: where the samples are, "files" if a load left some;
    sides: whether before/ and after/ count as readings too. Source: net/dev in samples/, before/
    and after/; speeds from interfaces.
    """
    return Answer(traffic_of(bundle, folder, sides))


@question(
    check=lambda bundle: traffic_of(bundle),
    columns=(
        *("device", "rx_packets_per_s", "tx_packets_per_s", "rx_mbit_per_s", "tx_mbit_per_s"),
        *("rx_packet_bytes", "utilisation_share", "saturation_per_s"),
    ),
    rows=20,
)
def device_totals(bundle: Bundle, folder: str = "samples", sides: bool = True) -> Answer:
    """What each interface received and sent from the first reading of net/dev to the last.

    A row per interface, the one that received most first. folder and sides are as in
    device_traffic. Source: device_traffic.
    """
    rows = most_first(traffic_of(bundle, folder, sides, whole=True), "rx_bytes")
    for side in ("rx", "tx"):
        rows[f"{side}_mbit_per_s"] = rows[f"{side}_bytes_per_s"] * 8e-6
    known = empty()
    with suppress(CaptureError):
        # That files of ip's are damaged is said by device_flags.
        known = known_interfaces(bundle)
    is_nominal = known["speed_is_nominal"].fillna(False).astype(bool)
    nominal = _with_traffic(rows).merge(known.loc[is_nominal, ["namespace", "device"]])
    return Answer(rows, nominal_devices=list(map(str, nominal["device"])))


def _folder(bundle: Bundle) -> str:
    # A load's are taken at the most uneven intervals.
    return "files" if bundle.text("files/net_dev") else "samples"


@question(
    check=lambda bundle: traffic_of(bundle, _folder(bundle), sides=False),
    columns=(
        *("device", "start_ns", "overstated_share", "utilisation_share", "namespace"),
        "interval_ns",
    ),
    rows=0,
)
def assumed_rates(bundle: Bundle, interval_s: float = 1.0, folder: str | None = None) -> Answer:
    """The rates that a tool shows if it assumes the interval that it asked for.

    A row per interval and interface: its rates, and what they would be over an assumed interval_s.
    Only samples count, not before/ and after/. folder: by default the samples that a load left, if
    there are any. `worst`: of the rows with traffic, the one whose rates are most wrong. Source:
    device_traffic.
    """
    if not interval_s > 0 or not np.isfinite(interval_s):
        raise ArgumentError(f"an interval of {interval_s} s has no rate")
    traffic = traffic_of(bundle, folder or _folder(bundle), sides=False)
    factor = (traffic["interval_ns"] / (interval_s * 1e9)).astype("Float64")
    rates = ["rx_bytes_per_s", "tx_bytes_per_s", "utilisation_share"]
    table = traffic[["namespace", "device", "start_ns", "end_ns", "interval_ns", *rates]].copy()
    for name in rates:
        table[f"assumed_{name}"] = table[name] * factor
    table["overstated_share"] = factor - 1
    wrong = _with_traffic(table, "bytes_per_s")
    most = wrong.sort_values("overstated_share", key=abs, ascending=False, kind="stable")
    return Answer(
        table,
        worst=first_row(most),
        shortest_interval_ns=int(table["interval_ns"].min()),
        longest_interval_ns=int(table["interval_ns"].max()),
        assumed_interval_s=interval_s,
    )


def summed(grown: pd.DataFrame) -> pd.DataFrame:
    # Growth from the first reading to the last, per interface; NA for a counter that went backwards
    # in between. grown: of deltas, with namespace.
    in_time = grown.sort_values("start_ns", kind="stable")
    groups = in_time.groupby(["namespace", "device"], sort=False)
    ends = groups.agg(
        start_ns=("start_ns", "first"),
        end_ns=("end_ns", "last"),
        first_ns=("interval_error_ns", "first"),
        last_ns=("interval_error_ns", "last"),
    )
    ends["interval_ns"] = ends["end_ns"] - ends["start_ns"]
    # A reading's own time is an error at the two ends only.
    both = ends["first_ns"] + ends["last_ns"]
    ends["interval_error_ns"] = both.where(groups.size() > 1, ends["first_ns"])
    values = [name for name in _GROWN if name in grown]
    return ends.join(groups[values].sum(skipna=False)).reset_index()


def _rated(grown: pd.DataFrame, speeds: dict[tuple[str, str], int | None]) -> pd.DataFrame:
    # Growth with rates, sizes, saturation and utilisation.
    types = dict.fromkeys(_GROWN, "Int64")
    frame = grown.reindex(columns=[*_WHERE, *_GROWN]).reset_index(drop=True).astype(types)
    grew = frame[_GROWN].astype("Float64")
    seconds = (frame["interval_ns"] / 1e9).where(frame["interval_ns"] > 0).astype("Float64")
    frame = frame.join(grew[_RATES].div(seconds, axis=0).add_suffix("_per_s"))
    for side in ("rx", "tx"):
        packets = grew[f"{side}_packets"]
        frame[f"{side}_packet_bytes"] = grew[f"{side}_bytes"] / packets.mask(packets <= 0)
    frame["saturation_per_s"] = grew[SATURATION].sum(axis=1, skipna=False) / seconds
    pairs = zip(frame["namespace"], frame["device"], strict=True)
    frame["speed_bits_per_s"] = pd.array([speeds.get(pair) for pair in pairs], dtype="Int64")
    # Of the busier direction, for a link is full duplex.
    busier = frame[["rx_bytes_per_s", "tx_bytes_per_s"]].max(axis=1, skipna=False)
    frame["utilisation_share"] = busier * 8 / frame["speed_bits_per_s"].astype("Float64")
    order = ["start_ns", "namespace", "device"]
    return frame.sort_values(order, kind="stable", ignore_index=True)[_COLUMNS]


def _speeds(bundle: Bundle) -> dict[tuple[str, str], int | None]:
    # Bits per second by (namespace, device), None where unknown or changed.
    speeds: dict[tuple[str, str], int | None] = {}
    for namespace, ending in bundle.network_namespaces.items():
        sides = [
            queue_settings(bundle.text(f"{side}/settings/queues{ending}") or "")
            for side in ("before", "after")
        ]
        for device in {name for side in sides for name in side}:
            known = {side[device].get("speed_bits_per_s") for side in sides if device in side}
            speeds[namespace, device] = known.pop() if len(known) == 1 else None
    return speeds


def _with_traffic(rows: pd.DataFrame, what: str = "packets") -> pd.DataFrame:
    # Rows with any traffic. what: "packets" or "bytes_per_s".
    return rows[(rows[f"rx_{what}"] > 0) | (rows[f"tx_{what}"] > 0)]


def _busiest(answer: Answer) -> list[dict[str, str]]:
    if not has_readings_clock(answer.capture):
        return []
    # Devices of the same name in several namespaces have no time of their own beside it.
    rows = answer.frame[answer.frame["device"] != "lo"]
    alone = rows[rows.groupby("device")["namespace"].transform("nunique") == 1]
    bytes_by = (alone["rx_bytes"] + alone["tx_bytes"]).groupby(alone["device"]).sum()
    order = bytes_by[bytes_by > 0].sort_values(ascending=False, kind="stable")
    return [{"device": str(device)} for device in order.index[:_MOST]]


@device_traffic.plot(
    title=lambda _, device: f"Traffic of {device} over time",
    height=2.4,
    panels=_busiest,
    choices=each("device"),
)
def _of_device(ax: "plots.Axes", answer: Answer, device: str) -> None:
    rows = answer.frame[answer.frame["device"] == device]
    # The length of a short interval is not known well enough.
    sure = rows[rows["interval_error_ns"] * 2 <= rows["interval_ns"]]
    curves = {"rx_bytes_per_s": "received", "tx_bytes_per_s": "sent"}
    plots.devices.rates(ax, sure, curves, 8e-6, "Mbit/s", answer.start_ns)
    ax.set_title(device)
    # Samples alone have no window.
    with suppress(CaptureError):
        ends = bounds_of(answer.timeline).span
        ax.set_xlim(*((end_ns - answer.start_ns) / 1e9 for end_ns in ends))


@assumed_rates.plot(
    title=lambda _, device: f"Rates of {device} over true and assumed intervals",
    height=2.4,
    panels=lambda answer: [{"device": answer["worst"]["device"]}] if answer["worst"] else [],
    choices=each("device"),
)
def _true_and_assumed(ax: "plots.Axes", answer: Answer, device: str) -> None:
    rows = answer.frame[answer.frame["device"] == device]
    # Of namesakes in several namespaces the first.
    rows = rows[rows["namespace"] == rows["namespace"].iloc[0]]
    column, scale, unit = "rx_bytes_per_s", 8e-6, "Mbit/s received"
    if rows["utilisation_share"].notna().all():
        column, scale, unit = "utilisation_share", 100.0, "% utilised"
    curves = {
        column: "over the true interval",
        f"assumed_{column}": f"if each interval were {answer['assumed_interval_s']:g} s",
    }
    plots.devices.rates(ax, rows, curves, scale, unit, int(rows["start_ns"].min()))
    ax.set_title(device)
    ax.set_xlabel("time since the first sample, s")
