# One CPU's contexts as lanes, stacked as in the kernel.

from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.text import Text

from ..units import duration, plural
from .palette import FAINT, HATCH, INK, KIND, printable, time_unit

# Lanes from the top, in the order in which contexts interrupt each other.
_LANES = ("interrupts", "NAPI polls", "softirqs", "task")
_LANE_OF = {
    **dict.fromkeys(("hardirq", "vector", "nmi"), 0),
    "poll": 1,
    **dict.fromkeys(("softirq", "softirq_other"), 2),
    **dict.fromkeys(("task", "idle", "unknown"), 3),
}
_HEIGHT = 0.62
_PALE_TASK = "#e6ebef"
# More boxes than this in a strip would be slow to draw and too small to see.
_MOST = 3000
# Left and right end, lane and text.
_Label = tuple[float, float, int, str]


def lanes(
    ax: Axes,
    segments: pd.DataFrame,
    softirqs: pd.DataFrame,
    polls: pd.DataFrame,
    cpu: int,
    window: tuple[int, int],
    interrupted: tuple[int, int, int] | None = None,
    others: tuple[int, ...] = (),
) -> None:
    """Draw a window of one CPU: interrupts, polls, softirqs and task, and other CPUs as strips.

    segments: with kind (from kinds_of). softirqs, polls: of the same timeline. Full colour shows
    what ran. A pale span around it is an open softirq or the current task while something else
    runs. window: begin and end, ns. interrupted: begin and end of the task's interruption, and the
    part that interrupts and softirqs had, ns; this is marked, and the axis counts from its begin.
    others: CPUs that get one strip each.
    """
    start_ns, end_ns = window
    origin = interrupted[0] if interrupted else start_ns
    divisor, unit = time_unit(end_ns - start_ns)

    def at(ns: Any) -> float:
        return (int(ns) - origin) / divisor

    def within(begin: Any, end: Any) -> tuple[float, float]:
        # An unknown end lies outside the window.
        first = start_ns if pd.isna(begin) else max(begin, start_ns)
        return at(first), at(end_ns if pd.isna(end) else min(end, end_ns))

    def boxes(rows: pd.DataFrame, lane: int | None = None) -> list[_Label]:
        columns = (rows[name].astype(object) for name in ("kind", "start_ns", "end_ns", "name"))
        drawn = []
        for kind, begin, end, name in zip(*columns, strict=True):
            left, right = within(begin, end)
            place = _LANE_OF[kind] if lane is None else lane
            _box(ax, left, right, place, KIND[kind], None, HATCH if kind == "unknown" else None)
            drawn.append((left, right, place, printable(name) if pd.notna(name) else kind))
        return drawn

    ax.set_xlim(at(start_ns), at(max(end_ns, start_ns + 1)))
    count = len(_LANES) + len(others)
    ax.set_ylim(count - 0.45, -0.6)
    of_cpu = segments[segments["cpu"] == cpu]
    labels: list[_Label] = []
    for begin, end, comm in _stretches(of_cpu):
        left, right = at(begin), at(end)
        _box(ax, left, right, 3, _PALE_TASK, FAINT)
        labels.append((left, right, 3, comm))
    columns = (softirqs[softirqs["cpu"] == cpu][name] for name in ("entry_ns", "exit_ns", "action"))
    for entry, exit_, action in zip(*columns, strict=True):
        left, right = within(entry, exit_)
        edge = KIND["softirq" if action in ("NET_RX", "NET_TX") else "softirq_other"]
        _box(ax, left, right, 2, f"{edge}26", edge)
        labels.append((left, right, 2, printable(action)))
    labels += [label for label in boxes(of_cpu) if label[2] == 0]
    for begin, end, text in _polls(polls[polls["cpu"] == cpu], start_ns, end_ns):
        left, right = within(begin, end)
        # Draw over the segments, so that an edge separates adjacent polls.
        _box(ax, left, right, 1, f"{KIND['poll']}26", KIND["softirq"])
        labels.append((left, right, 1, text))
    for place, other in enumerate(others, start=len(_LANES)):
        rows = segments[segments["cpu"] == other].head(_MOST)
        boxes(rows, place)
        _write(ax, [(*within(*span), place, name) for *span, name in _stretches(rows)])
    ax.set_yticks(range(count), [*_LANES, *(f"CPU {other}" for other in others)])
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
    ax.set_xlabel(f"time since the {'interrupt' if interrupted else 'start'}, {unit}")
    ax.grid(axis="x")
    if interrupted:
        begin, end, ns = interrupted
        elapsed = "" if ns == end - begin else f"{duration(end - begin)}, "
        of = " of it" if elapsed else ""
        text = f"{elapsed}{duration(ns)}{of} in interrupts and softirqs"
        _bracket(ax, at(begin), at(end), text)
    _write(ax, labels)


def _stretches(rows: pd.DataFrame) -> list[tuple[int, int, str]]:
    # Runs of segments with the same current task: start, end and name.
    rows = rows[rows["tid"].notna()]
    stretches: list[tuple[int, int, str]] = []
    last = None
    for begin, end, tid, comm in zip(
        rows["start_ns"], rows["end_ns"], rows["tid"], rows["comm"].astype(object), strict=True
    ):
        if tid == last and stretches and stretches[-1][1] == begin:
            stretches[-1] = (stretches[-1][0], end, stretches[-1][2])
        else:
            name = "idle" if tid == 0 else printable(comm) if pd.notna(comm) else f"tid {tid}"
            stretches.append((begin, end, name))
        last = tid
    return stretches


def _polls(rows: pd.DataFrame, start_ns: int, end_ns: int) -> Iterator[tuple[int, int, str]]:
    columns = (rows[name].astype(object) for name in ("start_ns", "end_ns", "device", "work"))
    for begin, end, device, work in zip(*columns, strict=True):
        if pd.notna(begin) and end >= start_ns and begin <= end_ns:
            packets = "" if pd.isna(work) else f" {plural(work, 'packet')}"
            yield begin, end, f"{printable(device)}{packets}"


def _box(
    ax: Axes,
    left: float,
    right: float,
    lane: float,
    color: str,
    edge: str | None,
    hatch: str | None = None,
) -> None:
    line = {"edgecolor": edge or "none", "linewidth": 0.7 if edge else 0}
    ax.barh(lane, right - left, _HEIGHT, left=left, color=color, hatch=hatch, **line)  # type: ignore[arg-type]


def _write(ax: Axes, labels: list[_Label]) -> None:
    # Write each label below its box if there is room, never over another label of the lane.
    figure = ax.get_figure(root=True)
    if figure is None:
        return
    # Drawing lays out the axes, so draw once before measuring.
    figure.draw_without_rendering()
    low, high = ax.get_xlim()
    pixels = ax.get_window_extent().width / (high - low)
    written_to: dict[int, float] = {}
    for left, right, lane, text in sorted(labels, key=lambda label: (label[2], label[0])):
        if right <= left:
            continue
        written = Text(0, 0, text, fontsize=8, figure=figure)
        width = written.get_window_extent().width / pixels
        start = max(left, written_to.get(lane, low))
        # A label may begin at its box and run past it, but not past the axes.
        if start > left and start > right - width:
            continue
        if start + width > high:
            start = high - width
            if start < written_to.get(lane, low):
                continue
        ax.text(start, lane + _HEIGHT / 2 + 0.03, text, fontsize=8, color=INK, va="top")
        written_to[lane] = start + width + 6 / pixels


def _bracket(ax: Axes, left: float, right: float, text: str) -> None:
    ends = {"arrowstyle": "|-|,widthA=0.25,widthB=0.25", "color": INK, "linewidth": 0.9}
    ax.annotate("", (left, -0.45), (right, -0.45), arrowprops=ends, annotation_clip=False)
    ax.text((left + right) / 2, -0.55, text, ha="center", va="bottom")
