# What uneven intervals do to the rates of a tool that does not measure them.

from typing import TYPE_CHECKING

import numpy as np

from ...answers.answer import Answer
from ...answers.form import each
from ...answers.question import question
from ...display.tables import listed
from ...errors import ArgumentError
from .device_traffic import carried, with_traffic

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...capture.bundle import Bundle


def _folder(bundle: "Bundle") -> str:
    # A load's are taken at the most uneven intervals.
    return "files" if bundle.text("files/net_dev") else "samples"


@question(
    check=lambda bundle: carried(bundle, _folder(bundle), sides=False),
    columns=(
        *("device", "start_ns", "overstated_share", "utilisation_share", "namespace"),
        "interval_ns",
    ),
    rows=0,
)
def assumed_rates(bundle: "Bundle", interval_s: float = 1.0, folder: str | None = None) -> Answer:
    """What a tool would have shown that takes its interval for the one it asked for.

    A row per interval and interface: its rates, and what they are over an assumed interval_s. Only
    samples count, not before/ and after/; folder: those that a load left unless given, if there are
    any. `worst`: the row, of those in which anything was carried, whose rates are most wrong.
    Source: device_traffic.
    """
    if not interval_s > 0 or not np.isfinite(interval_s):
        raise ArgumentError(f"an interval of {interval_s} s has no rate")
    traffic = carried(bundle, folder or _folder(bundle), sides=False)
    factor = (traffic["interval_ns"] / (interval_s * 1e9)).astype("Float64")
    rates = ["rx_bytes_per_s", "tx_bytes_per_s", "utilisation_share"]
    table = traffic[["namespace", "device", "start_ns", "end_ns", "interval_ns", *rates]].copy()
    for name in rates:
        table[f"assumed_{name}"] = table[name] * factor
    table["overstated_share"] = factor - 1
    wrong = with_traffic(table, "bytes_per_s")
    order = wrong["overstated_share"].abs().sort_values(ascending=False, kind="stable").index
    return Answer(
        table,
        worst=next(iter(listed(wrong.loc[order[:1]])), None),
        shortest_interval_ns=int(table["interval_ns"].min()),
        longest_interval_ns=int(table["interval_ns"].max()),
        assumed_interval_s=interval_s,
    )


@assumed_rates.plot(
    title=lambda _, device: f"True rates of {device}, and over assumed intervals",
    height=2.4,
    panels=lambda answer: [{"device": answer["worst"]["device"]}] if answer["worst"] else [],
    choices=each("device"),
)
def _of_device(ax: "Axes", answer: Answer, device: str) -> None:
    from .plots import rates

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
    rates(ax, rows, curves, scale, unit, int(rows["start_ns"].min()))
    ax.set_title(device)
    ax.set_xlabel("time since the first sample, s")
