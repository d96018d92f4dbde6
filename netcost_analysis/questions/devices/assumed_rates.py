# What uneven intervals do to the rates of a tool that does not measure them.

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...answers.form import each
from ...answers.question import question
from ...errors import ArgumentError
from .device_traffic import carried, device_traffic, with_traffic
from .parts import of_device

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...capture.bundle import Bundle


def _folder(bundle: "Bundle") -> str:
    # A load's are taken at the most uneven intervals.
    return "files" if bundle.text("files/net_dev") else "samples"


@question(
    check=lambda bundle: carried(bundle, _folder(bundle), sides=False),
    columns=(
        "device",
        "start_ns",
        "overstated_share",
        "utilisation_share",
        "namespace",
        "interval_ns",
    ),
    rows=0,
)
def assumed_rates(
    bundle: "Bundle", interval_s: float = 1.0, folder: str | None = None
) -> pd.DataFrame:
    """What a tool would have shown that takes its interval for the one it asked for.

    - interval_s: The interval that the tool assumes.
    - folder: Where the samples are, as device_traffic takes it; None for those that a load left, if
      any. Only samples count, not before/ and after/.

    A row per interval and (namespace, device): start_ns, end_ns, interval_ns, rx_bytes_per_s,
    tx_bytes_per_s, utilisation_share; the same with "assumed_" before the name; overstated_share,
    by how much every rate is too high (0.7 is 70 %, negative too low).

    Source: device_traffic.
    """
    if not interval_s > 0 or not np.isfinite(interval_s):
        raise ArgumentError(f"an interval of {interval_s} s has no rate")
    frame = device_traffic(bundle, folder or _folder(bundle), sides=False)
    factor = (frame["interval_ns"] / (interval_s * 1e9)).astype("Float64")
    kept = ["namespace", "device", "start_ns", "end_ns", "interval_ns"]
    shown = ["rx_bytes_per_s", "tx_bytes_per_s", "utilisation_share"]
    table = frame[[*kept, *shown]].copy()
    for name in shown:
        table[f"assumed_{name}"] = table[name] * factor
    table["overstated_share"] = factor - 1
    return table


def _worst(rows: pd.DataFrame) -> "pd.Series[Any] | None":
    # Of the rows in which anything was carried the one whose rates are most wrong.
    busy = with_traffic(rows, "bytes_per_s")
    if not len(busy):
        return None
    return busy.iloc[int(busy["overstated_share"].abs().to_numpy(dtype=float).argmax())]


def _interval_s(answer: "Answer") -> float:
    return float(answer.options.get("interval_s", 1.0))


@assumed_rates.figures
def _misread(answer: "Answer") -> dict[str, Any]:
    # worst: the row whose rates are most wrong, None where nothing was carried.
    worst, spans = _worst(answer.frame), answer.frame["interval_ns"]
    return {
        "shortest_ns": spans.min(),
        "longest_ns": spans.max(),
        "interval_s": _interval_s(answer),
        "worst": None if worst is None else worst.to_dict(),
    }


def _pictured(answer: "Answer") -> list[dict[str, str]]:
    worst = _worst(answer.frame)
    return [] if worst is None else [{"device": str(worst["device"])}]


@assumed_rates.plot(
    title=lambda _, device: f"True rates of {device}, and over assumed intervals",
    height=2.4,
    panels=_pictured,
    choices=each("device"),
)
def _of_device(ax: "Axes", answer: "Answer", device: str) -> None:
    from .plots import misread

    rows = of_device(answer.frame, device)
    # Of namesakes in several namespaces the first.
    rows = rows[rows["namespace"] == rows["namespace"].iloc[0]]
    misread(ax, rows, _interval_s(answer), int(rows["start_ns"].min()))
    ax.set_title(device)
    ax.set_xlabel("time since the first sample, s")
