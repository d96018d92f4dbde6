# A device's time, bin by bin.

from typing import TYPE_CHECKING

import pandas as pd

from ...answers.answer import Answer
from ...answers.form import each
from ...answers.question import question
from ...timeline.owners import NO_DEVICE
from ...units import round_width
from .device_lines import ENTERED, RAISED, lines_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...timeline.timeline import Timeline

# So many devices have a picture, those with most time.
_MOST = 3


@question(
    needs=(("interrupts", "polls"),),
    inputs=(RAISED, ENTERED),
    columns=("device", "start_ns", "cpu_share", "hardirq_ns", "poll_ns"),
    rows=0,
)
def device_time_series(timeline: "Timeline", bin_ns: int | None = None) -> Answer:
    """What CPU time each device took, bin by bin, in its interrupts and in its polls.

    A row per device and bin in which it took any, the device with most first. Bins start on
    multiples of bin_ns, by default so many that there are about 120; the window cuts the first and
    the last. Source: the timeline's sums; each line's device as device_lines has it.
    """
    start_ns, end_ns = int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"])
    width = round_width(end_ns - start_ns) if bin_ns is None else bin_ns
    sums, lines = timeline.sums(width), lines_of(timeline)
    # Of a line that several handlers share the name tells which it was.
    served = lines.loc[lines["device"].notna(), ["irq", "name", "device"]]
    is_shared = served["irq"].isin(lines.loc[lines["irq"].duplicated(), "irq"])
    served = served.astype({"irq": "Int64"})
    ran = sums.loc[sums["context"] == "hardirq", ["id", "name", "bin_ns", "ns"]]
    ran = ran.rename(columns={"id": "irq", "ns": "hardirq_ns"})
    ran = ran.astype({"irq": "Int64", "name": object})
    polled = sums.loc[sums["context"] == "poll", ["device", "bin_ns", "ns"]]
    polled = polled.astype({"device": object}).fillna({"device": NO_DEVICE})
    rows = pd.concat(
        [
            ran.merge(served.loc[~is_shared, ["irq", "device"]], on="irq"),
            ran.merge(served[is_shared], on=["irq", "name"]),
            polled.rename(columns={"ns": "poll_ns"}),
        ]
    )
    frame = rows.groupby(["device", "bin_ns"], as_index=False)[["hardirq_ns", "poll_ns"]].sum()
    frame["ns"] = frame["hardirq_ns"] + frame["poll_ns"]
    frame = frame[frame["ns"] > 0].astype({"bin_ns": "int64", "ns": "int64"})
    frame["start_ns"] = frame["bin_ns"].clip(lower=start_ns)
    frame["end_ns"] = (frame["bin_ns"] + width).clip(upper=end_ns)
    frame["cpu_share"] = frame["ns"] / (frame["end_ns"] - frame["start_ns"])
    frame["total"] = frame.groupby("device")["ns"].transform("sum")
    frame = frame.sort_values(
        ["total", "device", "start_ns"], ascending=[False, True, True], ignore_index=True
    )
    # Of what was not recorded the sum is no 0.
    for name, fact in (("hardirq_ns", "interrupts"), ("poll_ns", "polls")):
        if timeline.missing[fact]:
            frame[name] = pd.NA
    columns = ["device", "start_ns", "end_ns", "hardirq_ns", "poll_ns", "ns", "cpu_share"]
    return Answer(frame[columns].astype({"hardirq_ns": "Int64", "poll_ns": "Int64"}))


def _busiest(answer: Answer) -> list[dict[str, str]]:
    devices = answer.frame["device"].drop_duplicates()
    return [{"device": str(name)} for name in devices[~devices.isin([NO_DEVICE, "lo"])][:_MOST]]


@device_time_series.plot(
    title=lambda _, device: f"CPU time of {device} over time",
    height=2.4,
    panels=_busiest,
    choices=each("device"),
)
def _of_device(ax: "Axes", answer: Answer, device: str) -> None:
    from .plots import time_shares

    window = tuple(int(answer.timeline.summary[name]) for name in ("start_ns", "end_ns"))
    time_shares(ax, answer.frame[answer.frame["device"] == device], window, answer.start_ns)
    ax.set_title(device)
