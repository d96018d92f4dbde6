# A device's time, bin by bin.

from typing import TYPE_CHECKING

import pandas as pd

from ...answers.form import each
from ...answers.question import question
from ...timeline.owners import NO_DEVICE
from ...units import round_width
from ..batches.common import called
from .device_lines import ENTERED, device_lines
from .line_evidence import RAISED
from .parts import of_device

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...timeline.timeline import Timeline

COLUMNS = [
    *("device", "start_ns", "end_ns"),
    *("hardirq_ns", "poll_ns", "ns", "cpu_share"),
]
# So many devices have a picture, those with most time.
_MOST = 3


@question(
    needs=(("interrupts", "polls"),),
    inputs=(RAISED, ENTERED),
    columns=("device", "start_ns", "cpu_share", "hardirq_ns", "poll_ns"),
    rows=0,
)
def device_time_series(timeline: "Timeline", bin_ns: int | None = None) -> pd.DataFrame:
    """What CPU time each device took, bin by bin, in its interrupts and in its polls.

    - bin_ns: The width of a bin; None for about 120 bins. Bins start on its multiples; the window
      cuts the first and the last.

    A row per device and bin in which it took any, the device with most first: device, start_ns,
    end_ns, hardirq_ns, poll_ns, ns, cpu_share (of one CPU, all CPUs' time together).

    Source: the timeline's sums; each line's device as device_lines has it.
    """
    start_ns, end_ns = int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"])
    width = round_width(end_ns - start_ns) if bin_ns is None else bin_ns
    frame = binned(timeline.sums(width), device_lines(timeline), (start_ns, end_ns), width)
    # Of what was not recorded the sum is no 0.
    for name, fact in (("hardirq_ns", "interrupts"), ("poll_ns", "polls")):
        if timeline.missing[fact]:
            frame[name] = pd.NA
    return frame.astype({"hardirq_ns": "Int64", "poll_ns": "Int64"})


@device_time_series.figures
def _figures(answer: "Answer") -> dict[str, list[str]]:
    devices = answer.frame["device"]
    return {"devices": [called(one) for one in devices.drop_duplicates()]}


def binned(
    sums: pd.DataFrame, lines: pd.DataFrame, window: tuple[int, int], bin_ns: int
) -> pd.DataFrame:
    # device_time_series() of the timeline's sums in bins of bin_ns. lines: as device_lines returns
    # it. window: from when to when, ns.
    # Of a line that several handlers share the name tells which it was.
    own = lines.loc[lines["device"].notna(), ["irq", "name", "device"]].astype({"irq": "Int64"})
    own["shared"] = own["irq"].isin(lines.loc[lines["irq"].duplicated(), "irq"])
    ran = sums.loc[sums["context"] == "hardirq", ["id", "name", "bin_ns", "ns"]]
    ran = ran.rename(columns={"id": "irq"}).astype({"irq": "Int64", "name": object})
    polled = sums.loc[sums["context"] == "poll", ["device", "bin_ns", "ns"]]
    polled = polled.astype({"device": object}).fillna({"device": NO_DEVICE})
    handled = pd.concat(
        [
            ran.merge(own.loc[~own["shared"], ["irq", "device"]], on="irq"),
            ran.merge(own[own["shared"]], on=["irq", "name"]),
        ]
    ).rename(columns={"ns": "hardirq_ns"})
    rows = pd.concat([handled, polled.rename(columns={"ns": "poll_ns"})])
    frame = rows.groupby(["device", "bin_ns"], as_index=False)[["hardirq_ns", "poll_ns"]].sum()
    frame = frame.astype({"bin_ns": "int64", "hardirq_ns": "int64", "poll_ns": "int64"})
    frame["ns"] = frame["hardirq_ns"] + frame["poll_ns"]
    frame = frame[frame["ns"] > 0].copy()
    frame["start_ns"] = frame["bin_ns"].clip(lower=window[0])
    frame["end_ns"] = (frame["bin_ns"] + bin_ns).clip(upper=window[1])
    frame["cpu_share"] = frame["ns"] / (frame["end_ns"] - frame["start_ns"])
    frame["total"] = frame.groupby("device")["ns"].transform("sum")
    frame = frame.sort_values(
        ["total", "device", "start_ns"], ascending=[False, True, True], ignore_index=True
    )
    return frame[COLUMNS]


def _busiest(answer: "Answer") -> list[dict[str, str]]:
    devices = answer.frame["device"].drop_duplicates()
    return [{"device": str(one)} for one in devices[~devices.isin([NO_DEVICE, "lo"])][:_MOST]]


@device_time_series.plot(
    title=lambda _, device: f"CPU time of {device} over time",
    height=2.4,
    panels=_busiest,
    choices=each("device"),
)
def _of_device(ax: "Axes", answer: "Answer", device: str) -> None:
    from .plots import time_shares

    window = tuple(int(answer.timeline.summary[name]) for name in ("start_ns", "end_ns"))
    time_shares(ax, of_device(answer.frame, device), window, answer.start_ns)
    ax.set_title(device)
