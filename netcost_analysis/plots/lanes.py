# One CPU's contexts as lanes, one above the other as they are stacked in the kernel.

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.text import Text

from ..units import duration
from .palette import FAINT, HATCH, INK, KIND, printable, time_unit

# From the top: what runs on top of what.
_LANES = ("interrupts", "NAPI polls", "softirqs", "task")
_LANE_OF = {
    "hardirq": 0,
    "vector": 0,
    "nmi": 0,
    "poll": 1,
    "softirq": 2,
    "softirq_other": 2,
    "task": 3,
    "idle": 3,
    "unknown": 3,
}
_HEIGHT = 0.62
# More boxes than this on a strip are a texture, and slow.
_MOST = 3000


def lanes(
    ax: Axes,
    segments: pd.DataFrame,
    softirqs: pd.DataFrame,
    polls: pd.DataFrame,
    cpu: int,
    window: tuple[int, int],
    taken: tuple[int, int, int] | None = None,
    others: tuple[int, ...] = (),
) -> None:
    """Draw a window of one CPU: interrupts, polls, softirqs and task, and other CPUs as strips.

    segments: with kind (of kinds_of); softirqs, polls: of the same timeline. Full colour is where
    the CPU was; the pale span around it is a softirq that is open, or a task that is current, while
    something else runs. window: from when to when, ns. taken: mark from when to when the task was
    interrupted, and how much of that interrupts and softirqs had, ns; the axis counts from the
    first. others: CPUs that get one strip each.
    """
    start_ns, end_ns = window
    origin = taken[0] if taken else start_ns
    divisor, unit = time_unit(end_ns - start_ns)

    def at(ns: Any) -> float:
        return (int(ns) - origin) / divisor

    ax.set_xlim(at(start_ns), at(max(end_ns, start_ns + 1)))
    rows = len(_LANES) + len(others)
    ax.set_ylim(rows - 0.45, -0.6)
    own = segments[segments["cpu"] == cpu]
    labels: list[tuple[float, float, float, str, str]] = []
    for span in _spans(own[own["tid"].notna()]):
        left, right, comm = at(span[0]), at(span[1]), span[2]
        _box(ax, left, right, 3, TASK_PALE, FAINT)
        labels.append((left, right, 3, comm, INK))
    inside = softirqs[(softirqs["cpu"] == cpu)]
    for entry, exit_, action in zip(
        inside["entry_ns"], inside["exit_ns"], inside["action"].astype(object), strict=True
    ):
        left = at(start_ns if pd.isna(entry) else max(int(entry), start_ns))
        right = at(end_ns if pd.isna(exit_) else min(int(exit_), end_ns))
        network = action in ("NET_RX", "NET_TX")
        edge = KIND["softirq" if network else "softirq_other"]
        _box(ax, left, right, 2, f"{edge}26", edge)
        labels.append((left, right, 2, printable(action), INK))
    polled = _polls(polls[polls["cpu"] == cpu], start_ns, end_ns)
    for kind, begin, end, name in zip(
        own["kind"], own["start_ns"], own["end_ns"], own["name"].astype(object), strict=True
    ):
        lane = _LANE_OF[kind]
        left, right = at(max(begin, start_ns)), at(min(end, end_ns))
        _box(ax, left, right, lane, KIND[kind], None, HATCH if kind == "unknown" else None)
        if lane == 0:
            labels.append((left, right, lane, printable(name) if pd.notna(name) else kind, INK))
    for begin, end, text in polled:
        left, right = at(max(begin, start_ns)), at(min(end, end_ns))
        # Over its segments: where one poll ends and the next begins shows only as an edge.
        _box(ax, left, right, 1, f"{KIND['poll']}26", KIND["softirq"])
        labels.append((left, right, 1, text, INK))
    for place, other in enumerate(others, start=len(_LANES)):
        _strip(ax, segments[segments["cpu"] == other].head(_MOST), place, at, start_ns, end_ns)
    names = [*_LANES, *(f"CPU {other}" for other in others)]
    ax.set_yticks(range(rows), names)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.annotate(
        f"CPU {cpu}",
        (0, -0.5),
        xycoords=("axes fraction", "data"),
        xytext=(-5, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontweight="bold",
    )
    ax.set_xlabel(f"time since the {'interrupt' if taken else 'start'}, {unit}")
    ax.grid(axis="x")
    if taken:
        _bracket(ax, at(taken[0]), at(taken[1]), f"{duration(taken[2])} in interrupts and softirqs")
    _write(ax, labels)


TASK_PALE = "#e6ebef"


def _spans(rows: pd.DataFrame) -> list[tuple[int, int, str]]:
    # Runs of segments under one current task: (start, end, name).
    spans: list[tuple[int, int, str]] = []
    last = None
    for begin, end, tid, comm in zip(
        rows["start_ns"], rows["end_ns"], rows["tid"], rows["comm"].astype(object), strict=True
    ):
        if tid == last and spans and spans[-1][1] == begin:
            spans[-1] = (spans[-1][0], end, spans[-1][2])
        else:
            name = "idle" if tid == 0 else printable(comm) if pd.notna(comm) else f"tid {tid}"
            spans.append((begin, end, name))
        last = tid
    return spans


def _polls(rows: pd.DataFrame, start_ns: int, end_ns: int) -> list[tuple[int, int, str]]:
    found = []
    for begin, end, device, work in zip(
        rows["start_ns"], rows["end_ns"], rows["device"].astype(object), rows["work"], strict=True
    ):
        if pd.isna(begin) or int(end) < start_ns or int(begin) > end_ns:
            continue
        packets = "" if pd.isna(work) else f" {work} packet{'' if work == 1 else 's'}"
        found.append((int(begin), int(end), f"{printable(device)}{packets}"))
    return found


def _strip(ax: Axes, rows: pd.DataFrame, place: int, at: Any, start_ns: int, end_ns: int) -> None:
    for kind, begin, end in zip(rows["kind"], rows["start_ns"], rows["end_ns"], strict=True):
        left, right = at(max(begin, start_ns)), at(min(end, end_ns))
        _box(ax, left, right, place, KIND[kind], None, HATCH if kind == "unknown" else None)
    _write(
        ax,
        [
            (at(max(begin, start_ns)), at(min(end, end_ns)), place, name, INK)
            for begin, end, name in _spans(rows[rows["tid"].notna()])
        ],
    )


def _box(
    ax: Axes,
    left: float,
    right: float,
    lane: float,
    color: str,
    edge: str | None,
    hatch: str | None = None,
) -> None:
    ax.barh(
        lane,
        right - left,
        _HEIGHT,
        left=left,
        color=color,
        edgecolor=edge or "none",
        linewidth=0.7 if edge else 0,
        hatch=hatch,
    )


def _write(ax: Axes, labels: list[tuple[float, float, float, str, str]]) -> None:
    # Under its box where there is room; never over another label of the lane.
    figure = ax.get_figure(root=True)
    if figure is None:
        return
    # The layout moves axes when it is drawn; what is measured must be what is shown.
    figure.draw_without_rendering()
    low, high = ax.get_xlim()
    pixels = ax.get_window_extent().width / (high - low)
    taken: dict[float, float] = {}
    for left, right, lane, text, color in sorted(labels, key=lambda label: (label[2], label[0])):
        if right <= left:
            continue
        written = Text(0, 0, text, fontsize=8, figure=figure)
        width = written.get_window_extent().width / pixels
        start = max(left, taken.get(lane, low))
        # A label may begin at its box and run past it, but not past the axes.
        if start > left and start > right - width:
            continue
        if start + width > high:
            start = high - width
            if start < taken.get(lane, low):
                continue
        ax.text(start, lane + _HEIGHT / 2 + 0.03, text, fontsize=8, color=color, va="top")
        taken[lane] = start + width + 6 / pixels


def _bracket(ax: Axes, left: float, right: float, text: str) -> None:
    ax.annotate(
        "",
        (left, -0.45),
        (right, -0.45),
        arrowprops={"arrowstyle": "|-|,widthA=0.25,widthB=0.25", "color": INK, "linewidth": 0.9},
        annotation_clip=False,
    )
    ax.text((left + right) / 2, -0.55, text, ha="center", va="bottom")
