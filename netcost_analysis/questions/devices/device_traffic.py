# What interfaces carried, over the true time between two readings of their counters.

from contextlib import suppress
from typing import TYPE_CHECKING

import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.form import each
from ...answers.question import question
from ...parsers.interface_texts import queue_settings
from ...snapshots.counters import counters, deltas
from ...timeline.reading import once

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...capture.bundle import Bundle
    from ...capture.capture import Capture

# Of the traces' clocks the one that the bundle's snapshots are stamped with.
_CLOCKS = ("mono", "monotonic")
# Of net/dev; the others count what no driver does any more.
_GROWN = [
    *("rx_bytes", "rx_packets", "tx_bytes", "tx_packets"),
    *("rx_errs", "rx_drop", "rx_fifo", "rx_frame", "rx_multicast"),
    *("tx_errs", "tx_drop", "tx_fifo", "tx_colls", "tx_carrier"),
]
_RATES = ["rx_bytes", "rx_packets", "tx_bytes", "tx_packets"]
# What nicstat calls saturation, in Linux's counters.
_SATURATION = ["rx_drop", "rx_fifo", "tx_drop", "tx_fifo", "tx_colls"]
_WHERE = ["namespace", "device", "start_ns", "end_ns", "interval_ns", "interval_error_ns"]
_COLUMNS = [
    *_WHERE,
    *_GROWN,
    *(f"{name}_per_s" for name in _RATES),
    *("rx_packet_bytes", "tx_packet_bytes", "saturation_per_s"),
    *("speed_bits_per_s", "utilisation_share"),
]
# So many interfaces have a picture, those that carried most.
_MOST = 3


class NoReadingsError(CaptureError):
    """The bundle has no two readings of net/dev in the window."""


def comparable(capture: "Capture") -> bool:
    # Whether the trace's clock is that of the snapshots, CLOCK_MONOTONIC.
    return str(capture.header["clock"]) in _CLOCKS


@question(
    check=lambda bundle: carried(bundle),
    columns=(
        *("device", "start_ns", "rx_bytes_per_s", "tx_bytes_per_s", "utilisation_share"),
        "namespace",
    ),
    rows=0,
)
def device_traffic(bundle: "Bundle", folder: str = "samples", sides: bool = True) -> Answer:
    """What each interface received and sent, over the true time between readings of net/dev.

    A row per interval and interface. folder: where the samples are, "files" where a load left some;
    sides: whether before/ and after/ are readings as well. Source: net/dev in samples/, before/ and
    after/; speeds as interfaces has them.
    """
    return Answer(carried(bundle, folder, sides))


def carried(
    bundle: "Bundle",
    folder: str = "samples",
    sides: bool = True,
    whole: bool = False,
    within: tuple[int, int] | None = None,
) -> pd.DataFrame:
    # The rows of device_traffic, or as whole a row per interface, from the first reading to the
    # last. within: only readings between these moments (CLOCK_MONOTONIC, ns), their own time
    # included.
    return _carried(bundle, folder, sides, whole, within).copy()


# Most questions about devices need it, and so does the check of whether they can be answered.
@once
def _carried(
    bundle: "Bundle", folder: str, sides: bool, whole: bool, within: tuple[int, int] | None
) -> pd.DataFrame:
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
    return _rated(pd.concat(frames, ignore_index=True), _speeds(bundle))


def summed(grown: pd.DataFrame) -> pd.DataFrame:
    # Growth from the first reading to the last, per interface. grown: of deltas, with namespace. A
    # counter that went backwards in between is NA.
    groups = grown.sort_values("start_ns", kind="stable").groupby(
        ["namespace", "device"], sort=False
    )
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
    # Growth with rates, sizes, saturation and utilisation beside it.
    types = dict.fromkeys(_GROWN, "Int64")
    frame = grown.reindex(columns=[*_WHERE, *_GROWN]).reset_index(drop=True).astype(types)
    grew = frame[_GROWN].astype("Float64")
    seconds = (frame["interval_ns"] / 1e9).where(frame["interval_ns"] > 0).astype("Float64")
    frame = frame.join(grew[_RATES].div(seconds, axis=0).add_suffix("_per_s"))
    for side in ("rx", "tx"):
        packets = grew[f"{side}_packets"]
        frame[f"{side}_packet_bytes"] = grew[f"{side}_bytes"] / packets.mask(packets <= 0)
    frame["saturation_per_s"] = grew[_SATURATION].sum(axis=1, skipna=False) / seconds
    pairs = zip(frame["namespace"], frame["device"], strict=True)
    frame["speed_bits_per_s"] = pd.array([speeds.get(pair) for pair in pairs], dtype="Int64")
    # Bytes of the busier direction: a full duplex link can have both.
    busier = frame[["rx_bytes_per_s", "tx_bytes_per_s"]].max(axis=1, skipna=False)
    frame["utilisation_share"] = busier * 8 / frame["speed_bits_per_s"].astype("Float64")
    order = ["start_ns", "namespace", "device"]
    return frame.sort_values(order, kind="stable", ignore_index=True)[_COLUMNS]


def _speeds(bundle: "Bundle") -> dict[tuple[str, str], int | None]:
    # Bits per second of each (namespace, device), None where unknown or changed meanwhile.
    speeds: dict[tuple[str, str], int | None] = {}
    for namespace, ending in bundle.network_namespaces.items():
        sides = [
            queue_settings(bundle.text(f"{side}/settings/queues{ending}") or "")
            for side in ("before", "after")
        ]
        for device in {name for side in sides for name in side}:
            told = {side[device].get("speed_bits_per_s") for side in sides if device in side}
            speeds[namespace, device] = told.pop() if len(told) == 1 else None
    return speeds


def with_traffic(rows: pd.DataFrame, what: str = "packets") -> pd.DataFrame:
    # Rows of device_traffic or assumed_rates in which anything was carried.
    return rows[((rows[f"rx_{what}"] > 0) | (rows[f"tx_{what}"] > 0)).fillna(False)]


def _busiest(answer: Answer) -> list[dict[str, str]]:
    if not comparable(answer.capture):
        return []
    # Of namesakes in several namespaces nobody's time is beside it.
    rows = answer.frame[answer.frame["device"] != "lo"]
    alone = rows[rows.groupby("device")["namespace"].transform("nunique") == 1]
    carried_by = (alone["rx_bytes"] + alone["tx_bytes"]).groupby(alone["device"]).sum()
    order = carried_by[carried_by > 0].sort_values(ascending=False, kind="stable")
    return [{"device": str(device)} for device in order.index[:_MOST]]


@device_traffic.plot(
    title=lambda _, device: f"Traffic of {device} over time",
    height=2.4,
    panels=_busiest,
    choices=each("device"),
)
def _of_device(ax: "Axes", answer: Answer, device: str) -> None:
    from .plots import rates

    rows = answer.frame[answer.frame["device"] == device]
    # Of a short interval the length is not known well enough.
    sure = rows[rows["interval_error_ns"] * 2 <= rows["interval_ns"]]
    curves = {"rx_bytes_per_s": "received", "tx_bytes_per_s": "sent"}
    rates(ax, sure, curves, 8e-6, "Mbit/s", answer.start_ns)
    ax.set_title(device)
    # Samples alone have no window.
    with suppress(CaptureError):
        summary = answer.timeline.summary
        ends = (int(summary[f"{end}_ns"]) for end in ("start", "end"))
        ax.set_xlim(*((end_ns - answer.start_ns) / 1e9 for end_ns in ends))
