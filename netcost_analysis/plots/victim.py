# One victim: where its time on CPU went, in total and over the window, the share that it got, and
# what remedies could give back.

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ..timeline.owners import KIND_COLUMNS
from ..units import absent, duration, plural, share
from .marks import STACKED, beside, label_rows, legend_above
from .palette import (
    FAINT,
    HATCH,
    INK,
    KIND,
    KIND_NAMES,
    PART,
    PART_NAMES,
    TASK,
    UNKNOWN,
    WAITED,
    printable,
    time_unit,
)

# A part gets a label from this share of the axis on.
_LABEL_WIDTH = 0.085
_BAR = 0.62
# A bar below this share of the axis would be a mere line.
_SEEN = 0.005
_DARK = ("stolen_network", "stolen_other", "synchronous", "scheduled")


def answer(
    ax: Axes,
    parts: pd.DataFrame,
    victim: str,
    monitor_ns: int | None = None,
    displaced_ns: int = 0,
) -> None:
    """Draw where a victim's time on CPU went, and below that what a monitor shows.

    parts: from parts_of. monitor_ns: utime + stime, None if unknown. displaced_ns: its waits off
    CPU behind scheduled network work, drawn to the same scale if large enough to see.
    """
    total = int(parts["ns"].sum())
    extent = max(total, monitor_ns or 0, displaced_ns, 1)
    divisor, unit = time_unit(extent)
    # Shares are absent if the time on CPU is unknown.
    known = bool(parts["share"].notna().all())
    names = [f"{printable(victim)} on CPU" if known else f"from {printable(victim)}"]
    left = 0
    for part, ns, of in zip(parts["part"], map(int, parts["ns"]), parts["share"], strict=True):
        look = _look(part)
        ax.barh(0, ns / divisor, _BAR, left=left / divisor, clip_on=False, **look)
        if ns >= _LABEL_WIDTH * extent:
            text = f"{duration(ns)}\n{share(of)}".strip()
            color = "white" if part in _DARK else INK
            at = (left + ns / 2) / divisor
            ax.text(at, 0, text, ha="center", va="center", color=color, linespacing=1.25)
        left += ns
    if not absent(monitor_ns):
        names.append("a monitor shows")
        shown, row = int(monitor_ns or 0), len(names) - 1
        ax.barh(row, shown / divisor, _BAR, clip_on=False, **{**_look("own"), "facecolor": "white"})
        text = f"{duration(monitor_ns)} of CPU time charged to {printable(victim)}"
        ax.text(0.012 * extent / divisor, row, text, va="center", color=INK, linespacing=1.25)
    if displaced_ns >= _SEEN * extent:
        names.append("waited, off CPU")
        row = len(names) - 1
        ax.barh(row, displaced_ns / divisor, _BAR, **WAITED)
        text = f"{duration(displaced_ns)} behind network work in kernel threads"
        at = ((displaced_ns if displaced_ns < 0.5 * extent else 0) + 0.012 * extent) / divisor
        ax.text(at, row, text, va="center", color=INK, linespacing=1.25)
    label_rows(ax, names)
    ax.set_xlim(0, extent / divisor)
    ax.set_xlabel(f"CPU time, {unit}")
    ax.spines["left"].set_visible(False)
    handles = [
        Patch(label=f"{PART_NAMES[part]}: {duration(ns)}", **_look(part))
        for part, ns in zip(parts["part"], parts["ns"], strict=True)
    ]
    legend_above(ax, handles, columns=3)


def _look(part: str) -> dict[str, Any]:
    hatch = HATCH if part == "unknown" else None
    return {"facecolor": PART[part], "edgecolor": FAINT, "linewidth": 0.5, "hatch": hatch}


_NETWORK = {"yes": ", network", "unknown": ", perhaps network", "no": ", no network"}


def thieves(ax: Axes, rows: pd.DataFrame, most: int = 8) -> None:
    """Draw what took a victim's time, a bar per thief.

    rows: from by_thief. most: how many have a bar of their own; the others share the last.
    """
    head, rest = rows.iloc[:most], rows.iloc[most:]
    # A vector may have several rows, for network runs and others.
    names = [printable(name) for name in head["thief"]]
    for place, twice in enumerate(head["thief"].duplicated(keep=False)):
        if twice:
            names[place] += _NETWORK[head["is_network"].iloc[place]]
    values = [int(ns) for ns in head["stolen_max_ns"]]
    shares = list(head["stolen_max_share"])
    colors = [KIND[kind] for kind in head["kind"]]
    if len(rest):
        names.append(plural(len(rest), "other"))
        values.append(int(rest["stolen_max_ns"].sum()))
        shares.append(rest["stolen_max_share"].sum(min_count=1))
        colors.append("white")
    largest = max(values, default=0)
    divisor, unit = time_unit(largest)
    places = range(len(values))
    lengths = [value / divisor for value in values]
    ax.barh(places, lengths, 0.66, color=colors, edgecolor=FAINT, linewidth=0.5)
    for place, value, of in zip(places, values, shares, strict=True):
        beside(ax, f"{duration(value)}  {share(of)}".strip(), value / divisor, place, 5)
    label_rows(ax, names, beyond=0.6)
    ax.set_xlim(0, max(largest, 1) / divisor * 1.18)
    ax.set_xlabel(f"time stolen, {unit}")
    ax.grid(axis="x")
    kinds = list(dict.fromkeys(head["kind"]))
    handles = [Patch(facecolor=KIND[kind], label=KIND_NAMES[kind]) for kind in kinds]
    legend_above(ax, handles, columns=4)


# Stacked above stolen time: own traffic, kernel threads, the task itself and unknown time.
_REST = ("synchronous", "scheduled", "task", "unknown")
_COLUMNS = {**KIND_COLUMNS, **{part: f"{part}_ns" for part in _REST}}
_WIDEST_GAPS = 200


def stolen_over_time(
    ax: Axes,
    bins: pd.DataFrame,
    gaps: pd.DataFrame,
    window: tuple[int, int],
    bin_ns: int,
    origin_ns: int = 0,
) -> None:
    """Draw a victim's time on CPU, bin by bin, as a share of one CPU.

    bins: from rolling_stolen, with windows of one bin. gaps: coverage of the victim's CPU
    (start_ns, end_ns). window: begin and end, ns. bin_ns: the width of a bin; bins begin at its
    multiples. origin_ns: the axis counts from here.
    """
    start_ns, end_ns = window
    unit_ns, unit = time_unit(max(abs(start_ns - origin_ns), abs(end_ns - origin_ns)))
    first = start_ns // bin_ns * bin_ns
    starts = np.arange(first, max(end_ns, first + 1), bin_ns, dtype="int64")
    # The window cuts the first and last bin.
    widths = np.minimum(starts + bin_ns, max(end_ns, start_ns + 1)) - np.maximum(starts, start_ns)
    edges = (
        np.append(np.maximum(starts, start_ns), max(end_ns, start_ns + 1)) - origin_ns
    ) / unit_ns
    place = bins["start_ns"] // bin_ns * bin_ns
    others = [column for column in _COLUMNS.values() if column != "task_ns"]
    # A kernel thread also has time that is no network work.
    remaining = (bins["on_cpu_ns"] - bins[others].sum(axis=1)).fillna(0)
    bins = bins.assign(task_ns=remaining).set_index(place)
    base = np.zeros(len(starts))
    handles = []
    for kind in (*STACKED, *_REST):
        of_kind = bins[_COLUMNS[kind]]
        if not of_kind.sum():
            continue
        ns = of_kind.reindex(starts, fill_value=0).to_numpy("int64")
        top = base + 100 * ns / widths
        color = KIND.get(kind) or PART[kind]
        hatch = HATCH if kind == "unknown" else None
        ax.stairs(top, edges, baseline=base, fill=True, facecolor=color, hatch=hatch, linewidth=0)
        name = KIND_NAMES.get(kind) or PART_NAMES[kind]
        edge = FAINT if hatch else None
        handles.append(Patch(facecolor=color, hatch=hatch, label=name, edgecolor=edge))
        base = top
    handles += _gaps(ax, gaps, window, origin_ns, unit_ns)
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(0, 100 if base.max(initial=0) <= 100.5 else None)
    ax.set_xlabel(f"time since the capture's start, {unit}")
    ax.set_ylabel("share of one CPU, %")
    ax.grid(axis="y")
    legend_above(ax, handles)


def _gaps(
    ax: Axes, gaps: pd.DataFrame, window: tuple[int, int], origin_ns: int, unit_ns: float
) -> list[Patch]:
    start_ns, end_ns = window
    # A strip along the top edge, with a least width so that a gap of a microsecond is visible.
    if not len(gaps):
        return []
    widest = gaps.assign(width=gaps["end_ns"] - gaps["start_ns"]).nlargest(_WIDEST_GAPS, "width")
    least = (end_ns - start_ns) / 500
    for start, end in zip(widest["start_ns"], widest["end_ns"], strict=True):
        left = (max(int(start), start_ns) - origin_ns) / unit_ns
        width = max(min(int(end), end_ns) - max(int(start), start_ns), least) / unit_ns
        ax.axvspan(left, left + width, 0.965, 1, facecolor="black", linewidth=0)
    return [Patch(facecolor="black", label="gap in the recording")]


# If a bar ends left of this percentage, the note fits beside it.
_ROOM = 52
_ESTIMATES = {
    "ticks": "ticks: what its clock says",
    "traced": "traced: when it ran",
    "work": "work: what it got done",
}


def estimates(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw estimates of the share of wall time that the victim got. rows: from estimates."""
    shares = rows["got_share"].astype(float)
    names = [name for name in _ESTIMATES if name in shares.index]
    for place, name in enumerate(names):
        got = float(shares[name])
        if absent(got):
            ax.text(1, place, "the bundle cannot say", va="center", color=FAINT)
            continue
        ax.barh(place, 100 * got, 0.6, color=TASK, edgecolor=FAINT, linewidth=0.5)
        beside(ax, share(got), 100 * got, place, -6, ha="right", color=INK, fontweight="bold")
    if {"traced", "work"} <= set(names) and shares["traced"] > shares["work"]:
        place, width = names.index("work"), 100 * float(shares["traced"] - shares["work"])
        left = 100 * float(shares["work"])
        look = {"color": UNKNOWN, "edgecolor": FAINT, "linewidth": 0.5, "hatch": HATCH}
        ax.barh(place, width, 0.6, left=left, **look)  # type: ignore[arg-type]
        # Put the note at the bar's end if there is room, else at its root.
        text = f"{width:.1f} points more went than the trace accounts for"
        beside(ax, text, left + width if left + width < _ROOM else 0, place)
    label_rows(ax, [_ESTIMATES[name] for name in names])
    ax.set_xlim(0, 100)
    ax.set_xlabel("share of wall time the victim got, %")
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")


_REMEDIES = {
    "rps": "RPS to another CPU",
    "irq_affinity": "interrupts to another CPU",
    "deferral_off": "no deferral of frees",
    "larger_batches": "larger batches",
}
_PARTS = {"stolen_network": "from_stolen_ns", "synchronous": "from_synchronous_ns"}


def remedies(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw what each remedy could give back to a victim.

    rows: from questions.remedies.remedies. Filled: a gain that no other task pays for. Framed: a
    gain at the cost of others, or of unknown cost.
    """
    most = max((int(ns) for ns in rows["removable_ns"].dropna()), default=0)
    divisor, unit = time_unit(most)
    drawn, framed = set(), False
    for place, row in enumerate(rows.to_dict("records")):
        if absent(row["removable_ns"]):
            ax.text(0, place, f" {row['finding']}", va="center", color=FAINT)
            continue
        left, free = 0, 0 if absent(row["gain_max_ns"]) else int(row["gain_max_ns"])
        for part, column in _PARTS.items():
            ns = int(row[column])
            filled = min(ns, free)
            free -= filled
            framed |= filled < ns
            look: Any = {"edgecolor": PART[part], "linewidth": 0.8}
            for width, color in ((filled, PART[part]), (ns - filled, "white")):
                if width:
                    ax.barh(place, width / divisor, 0.6, left=left / divisor, color=color, **look)
                left += width
            if ns:
                drawn.add(part)
        text = "nothing"
        if row["removable_ns"]:
            known = f"{duration(row['removable_ns'])}  {share(row['removable_share'])}".strip()
            text = f"{known}, {row['certainty']}"
        end = left / divisor
        beside(ax, text, end, place, 5, color=INK)
        if not absent(row["gain_least_ns"]):
            least = int(row["gain_least_ns"]) / divisor
            ax.plot([least, end], [place, place], color=INK, marker="|", linewidth=0.8)
    label_rows(ax, [_REMEDIES[name] for name in rows["remedy"]], beyond=0.6)
    ax.set_xlim(0, max(most, 1) / divisor * 1.42)
    ax.set_xlabel(f"of its time on CPU, at most, {unit}")
    ax.grid(axis="x")
    shown = [part for part in _PARTS if part in drawn]
    handles = [Patch(facecolor=PART[part], label=PART_NAMES[part]) for part in shown]
    if framed:
        name = "at other tasks' cost, or not known"
        handles.append(Patch(facecolor="white", edgecolor=FAINT, label=name))
    legend_above(ax, handles, columns=3)
