"""The pictures of stolen time: who lost it to what, without a break, to threads; what top shows."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ..timeline.owners import KIND_COLUMNS
from ..units import absent, duration, plural
from .marks import STACKED, beside, label_rows, legend_above, short
from .palette import (
    FAINT,
    HATCH,
    INK,
    KIND,
    KIND_NAMES,
    PART,
    PART_NAMES,
    WAITED,
    printable,
    time_unit,
)

_LOST = ("stolen", "stolen_or_synchronous", "displaced")
_BAR = 0.66
_NAME_LENGTH = 22
# From the left: what was taken, what may have been, what it did for the network, its own.
_PARTS = (
    *("stolen_network", "stolen_maybe_network", "stolen_other", "stolen_or_synchronous"),
    *("synchronous", "scheduled", "unknown", "own"),
)


def classes(ax: Axes, rows: pd.DataFrame, victim: str | None = None, most: int = 8) -> None:
    # Draw the time of the victim, and of those who lost most, by cost class, what each waited off
    # CPU beside it. rows: as cost_classes returns it by comm.
    tasks = rows[~rows["comm"].isin(["(idle)", "(unknown)"])]
    taken = tasks["ns"].where(tasks["cost_class"].isin(_LOST), 0)
    names = _in_order(taken.groupby(tasks["comm"]).sum(), victim, most)
    shown = tasks[tasks["comm"].isin(names)]
    part = shown["cost_class"].astype(object)
    network = shown["is_network"].map({"yes": "network", "unknown": "maybe_network"})
    part = part.where(part != "stolen", "stolen_" + network.fillna("other"))
    wide = shown.assign(part=part).pivot_table(
        index="comm", columns="part", values="ns", aggfunc="sum", fill_value=0
    )
    wide = wide.reindex(names)
    extent = int(wide.sum(axis=1).max()) if len(wide) else 1
    divisor, unit = time_unit(extent)
    looks = {
        name: {"facecolor": PART[name], "edgecolor": FAINT, "linewidth": 0.5} for name in _PARTS
    }
    looks["unknown"]["hatch"] = HATCH
    looks["displaced"] = {
        ("facecolor" if name == "color" else name): value for name, value in WAITED.items()
    }
    labels = {**PART_NAMES, "displaced": "waited for it, off CPU"}
    _, handles = _stacked(ax, wide / divisor, looks, labels)
    label_rows(ax, [printable(name) for name in names], beyond=0.6)
    ax.set_xlim(0, max(extent / divisor, 1e-9))
    ax.set_xlabel(f"CPU time, {unit}")
    legend_above(ax, handles, 4)


def _stacked(
    ax: Axes, rows: pd.DataFrame, looks: dict[str, dict[str, Any]], labels: dict[str, str]
) -> "tuple[pd.Series[float], list[Patch]]":
    # A bar for each row, of those of its columns that looks has, in its order. Returns how long the
    # bars are, and what a legend shows.
    left = pd.Series(0.0, index=range(len(rows)))
    handles = []
    for name, look in looks.items():
        if name in rows and rows[name].sum():
            values = rows[name].to_numpy(dtype="float64")
            ax.barh(range(len(rows)), values, _BAR, left=left, **look)
            left = left + values
            handles.append(Patch(label=labels[name], **look))
    return left, handles


def _in_order(lost: "pd.Series[int]", victim: str | None, most: int) -> list[str]:
    # The victim, then who lost most of those with a name.
    names = lost.sort_values(ascending=False, kind="stable").index.tolist()
    first = [victim] if victim in names else []
    return [*first, *(name for name in names if name != victim)][:most]


def monitor(ax: Axes, frame: pd.DataFrame, victim: str | None = None, most: int = 8) -> None:
    # Draw what a monitor shows of the victim and of those who lost most, and what they had. frame:
    # as effective_share returns it by comm.
    lost = (frame["on_cpu_ns"] - frame["task_ns"]).fillna(0)
    top = frame.loc[_in_order(lost, victim, most)]
    claimed = 100 * top["monitor_share"].to_numpy()
    had = 100 * top["effective_share"].to_numpy()
    places = np.arange(len(top))
    ax.hlines(places, had, claimed, color=PART["stolen_network"], linewidth=3, alpha=0.6)
    ax.plot(had, places, "o", color=INK, markersize=7, label="what it had")
    ax.plot(
        *(claimed, places),
        "o",
        color=INK,
        markersize=7,
        markerfacecolor="white",
        label="%CPU shown",
    )
    # What the kernel counted is of another time than what the trace says.
    runs = top["monitor_of_ns"].where(top["monitor_from"] == "counted")
    for place, (a, b, run) in enumerate(zip(had, claimed, runs, strict=True)):
        if b - a >= 0.5:
            of = "" if absent(run) else f" of its run of {duration(run)}"
            text = f"{b:.1f} shown{of}, {a:.1f} had"
            beside(ax, text, max(a, b), place)
    label_rows(ax, [printable(name) for name in top.index], beyond=0.6)
    largest = np.nanmax(np.append(np.append(had, claimed), 1.0))
    ax.set_xlim(0, largest * 1.3)
    ax.set_xlabel("share of one CPU while it was alive, %")
    ax.grid(axis="x")
    legend_above(ax, columns=2)


def longest(ax: Axes, frame: pd.DataFrame, origin_ns: int, most: int = 10) -> None:
    # Draw the longest episodes, each by what ran in it.
    # frame: episodes of episodes(). origin_ns: what times count from.
    rows = frame.head(most)
    divisor, unit = time_unit(int(rows["wall_ns"].max()) if len(rows) else 1)
    looks = {
        KIND_COLUMNS[kind]: {"facecolor": KIND[kind], "edgecolor": FAINT, "linewidth": 0.4}
        for kind in STACKED
    }
    labels = {KIND_COLUMNS[kind]: KIND_NAMES[kind] for kind in STACKED}
    times = rows[list(looks)].astype("float64") / divisor
    left, handles = _stacked(ax, times, looks, labels)
    names = []
    row: Any
    for place, row in enumerate(rows.itertuples()):
        at = (row.start_ns - origin_ns) / 1e9
        names.append(f"{short(row.comm, _NAME_LENGTH)}, CPU {row.cpu}, at {at:.6f} s")
        text = duration(row.wall_ns)
        if pd.notna(row.packets) and row.packets:
            text += f", {plural(int(row.packets), 'packet')}"
        beside(ax, text, left[place], place)
    label_rows(ax, names, beyond=0.6)
    ax.set_xlim(0, max(left.max() if len(left) else 0, 1e-9) * 1.22)
    ax.set_xlabel(f"time without running, {unit}")
    ax.grid(axis="x")
    legend_above(ax, handles, 3)


def when(ax: Axes, frame: pd.DataFrame, window: tuple[int, int], origin_ns: int) -> None:
    # Draw when threads had network work, a lane for each. frame: handovers of handovers(). window:
    # from when to when, ns. origin_ns: what the axis counts from.
    start_ns, end_ns = window
    divisor, unit = time_unit(max(abs(start_ns - origin_ns), abs(end_ns - origin_ns)))
    busiest = frame.groupby("comm")["network_ns"].sum().sort_values(ascending=False)
    names = list(busiest.index[:8])
    # A hand-over of a microsecond must still be seen.
    least = (end_ns - start_ns) / 400
    for place, name in enumerate(names):
        rows = frame[frame["comm"] == name]
        spans = [
            ((start - origin_ns) / divisor, max(end - start, least) / divisor)
            for start, end in zip(rows["start_ns"], rows["end_ns"], strict=True)
        ]
        ax.broken_barh(spans, (place - _BAR / 2, _BAR), facecolor=PART["scheduled"], linewidth=0)
    label_rows(ax, [short(name, _NAME_LENGTH) for name in names], beyond=0.6)
    ax.set_xlim((start_ns - origin_ns) / divisor, max(end_ns - origin_ns, 1) / divisor)
    ax.set_xlabel(f"time since the capture's start, {unit}")
    ax.grid(axis="x")


def waited(ax: Axes, displaced: pd.DataFrame, most: int = 6) -> None:
    # Draw who waited while they had it.
    # displaced: of handovers().
    by_task = displaced.groupby("comm")["ns"].sum().sort_values(ascending=False, kind="stable")
    top, rest = by_task.iloc[:most], by_task.iloc[most:]
    names = [short(name, _NAME_LENGTH) for name in top.index]
    values = [int(ns) for ns in top]
    if len(rest):
        names.append(plural(len(rest), "other"))
        values.append(int(rest.sum()))
    largest = max(values, default=0)
    divisor, unit = time_unit(largest)
    lengths = [value / divisor for value in values]
    ax.barh(range(len(values)), lengths, _BAR, **WAITED)
    for place, value in enumerate(values):
        beside(ax, duration(value), value / divisor, place)
    label_rows(ax, names, beyond=0.6)
    ax.set_xlim(0, max(largest, 1) / divisor * 1.35)
    ax.set_xlabel(f"waited during the hand-over, {unit}")
