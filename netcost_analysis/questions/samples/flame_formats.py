# Flame graphs as files: folded text, speedscope's JSON, SVG; and how the samples of two captures
# differ, frame by frame with all that each called.

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING
from zlib import crc32

from ..._native import flame_svg
from ...capture.capture import Capture
from ...plots.palette import KIND, OUTCOME
from ...units import duration, fine_duration
from .contexts import CONTEXTS
from .flame import Graph, Paths

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class FrameChanges:
    """The new side's rate less the base's, of each node with all below it.

    per: what rates are divided by. unit: "ns", or what was sampled. units: how many of `per` each
    side had. rates: by side. change, change_low, change_high: the difference and its 95 %
    interval, of the sampling alone.
    """

    per: str
    unit: str
    units: tuple[float, float]
    rates: "NDArray[np.float64]"
    change: "NDArray[np.float64]"
    change_low: "NDArray[np.float64]"
    change_high: "NDArray[np.float64]"

    @property
    def differs(self) -> "NDArray[np.bool_]":
        """Where the interval of the change is on one side of 0."""
        return (self.change_low > 0) | (self.change_high < 0)

    def words(self, node: int) -> str:
        """Both sides of a node, and the change."""
        base, new = (self.shown(float(rate)) for rate in self.rates[:, node])
        ends = (float(end[node]) for end in (self.change, self.change_low, self.change_high))
        by, low, high = (
            ("+" if end > 0 else "-" if end < 0 else "") + self.shown(abs(end)) for end in ends
        )
        return f"base {base}, new {new} per {self.per}; change {by}, 95% {low} to {high}"

    def shown(self, rate: float) -> str:
        """A rate in its unit."""
        if self.unit == "ns":
            return fine_duration(rate)
        return f"{rate:,.3g} {self.unit}" if rate < 1000 else f"{rate:,.0f} {self.unit}"


def frame_changes(graph: Graph, per: str, unit: str, units: tuple[float, float]) -> FrameChanges:
    """The change of each node. units: how many of `per` each side had."""
    import numpy as np

    from ...stats.counts import count_interval, difference_interval, equal_samples

    sides = []
    for weights, squares, number in zip(graph.weights, graph.squares, units, strict=True):
        weight, square = np.array(weights, dtype=float), np.array(squares)
        size, each = equal_samples(weight, square, float(square[0] / max(weight[0], 1)))
        low, high = count_interval(size)
        sides.append((weight / number, low * each / number, high * each / number))
    base, new = sides
    rates = np.array([base[0], new[0]])
    return FrameChanges(per, unit, units, rates, new[0] - base[0], *difference_interval(base, new))


def denominators(
    captures: tuple[Capture, Capture], sides: tuple[Paths, Paths], cpu: int | None
) -> tuple[str, tuple[float, float]]:
    """What both sides' rates can be divided by, and how many of these each has.

    Packets where both hosts counted them, scaled from the counters' window to the samples'; else
    what of the samples is outside idle: seconds of a timer, 1,000 of another event.
    """
    base, new = (_packets(*both, cpu) for both in zip(captures, sides, strict=True))
    if base and new:
        return "packet", (base, new)
    profile = sides[0].profile
    base, new = (max(sum(side.kinds.values()) - side.kinds["idle"], 1) for side in sides)
    if profile.is_timed:
        return "second of busy CPU", (base / 1e9, new / 1e9)
    return f"1,000 {profile.event} outside idle", (base / 1e3, new / 1e3)


def _packets(capture: Capture, side: Paths, cpu: int | None) -> float:
    # Packets that went up the stack while samples were taken; 0 where nobody counted.
    from ..completeness.counter_growth import packets

    counted = packets(capture.bundle) if capture.bundle else None
    if counted is None:
        return 0
    number = sum(growth for (_, at), growth in counted.counts.items() if cpu in (None, at))
    window = counted.window.inner[1] - counted.window.inner[0]
    return number * side.span_ns / window if window > 0 else 0


# Frames narrower than this part of the picture are not drawn, and of too many only the widest.
_NARROW, _MOST = 1 / 4000, 20_000
_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_REST, _NO_BREAK = "tasks too narrow to draw", "\xa0"
UNCHANGED = "#d9d9d9"
_LEGEND = {
    "task": "task",
    "idle": "idle",
    "hardirq": "hardirq",
    "vector": "timer, IPI",
    "nmi": "NMI",
    "softirq_other": "softirq",
    "softirq": "network softirq",
    "poll": "NAPI poll",
}


def folded(graph: Graph) -> Iterator[str]:
    """Lines `outermost;inner 12`, a number for each capture: what flamegraph.pl and others take."""
    for node in _order(graph):
        if any(own := [side[node] for side in graph.own]):
            path = ";".join(graph.label(at).replace(" ", "_") for at in graph.path(node))
            yield f"{path} {' '.join(map(str, own))}\n"


def speedscope(graph: Graph, names: list[str], unit: str) -> str:
    """What speedscope reads, a profile for each capture. unit: "ns", or what was sampled."""
    nodes = _order(graph)
    profiles = []
    for side, name in enumerate(names):
        own = [node for node in nodes if graph.own[side][node]]
        profiles.append(
            {
                "type": "sampled",
                "name": name if unit == "ns" else f"{name} ({unit})",
                "unit": "nanoseconds" if unit == "ns" else "none",
                "startValue": 0,
                "endValue": sum(graph.own[side]),
                "samples": [[graph.name[at] for at in graph.path(node)] for node in own],
                "weights": [graph.own[side][node] for node in own],
            }
        )
    shared = {"frames": [{"name": name} for name in graph.names]}
    file = {"$schema": _SCHEMA, "shared": shared, "profiles": profiles, "exporter": "netcost"}
    return json.dumps(file, ensure_ascii=True) + "\n"


def svg(graph: Graph, title: str, subtitle: str, unit: str) -> str:
    """One capture's graph, in the colours of contexts."""
    total = graph.weights[0][0]
    used = sorted({*graph.context[1:]})
    legend = [(_tint(KIND[CONTEXTS[at]]), _LEGEND[CONTEXTS[at]]) for at in used]

    def paint(node: int) -> tuple[str, str]:
        value = graph.weights[0][node]
        shown = duration(value) if unit == "ns" else f"{value:,} {unit}"
        name = graph.label(node)
        color = _tint(KIND[CONTEXTS[graph.context[node]]], name)
        return color, f"{name} ({shown}, {100 * value / total:.2f}%)"

    return _drawn(graph, graph.own[0], paint, title, subtitle, legend)


def svg_of_change(graph: Graph, change: FrameChanges, title: str, subtitle: str) -> str:
    """Two captures' graph, in the colours of the change of each frame with all it called.

    A frame is as wide as the mean of both sides: what is gone, and what is new, both have a width.
    """
    rates = [
        [ns / number for ns in own] for own, number in zip(graph.own, change.units, strict=True)
    ]
    mean = [sum(each) / len(each) for each in zip(*rates, strict=True)]
    own = [round(one * (1e9 / sum(mean))) for one in mean]
    largest = max((abs(float(one)) for one in change.change[change.differs]), default=0.0)
    legend = [
        (OUTCOME["worse"], f"more, up to {change.shown(largest)} per {change.per}"),
        (OUTCOME["better"], "less"),
        (UNCHANGED, "the 95 % interval of the change includes 0"),
    ]

    def paint(node: int) -> tuple[str, str]:
        by = change.change[node]
        color = UNCHANGED
        if change.differs[node]:
            # The square root: a tenth of the largest is still seen.
            share = 0.25 + 0.75 * abs(by / largest) ** 0.5
            color = on_white(OUTCOME["worse" if by > 0 else "better"], 0.75 * share)
        return color, f"{graph.label(node)} ({change.words(node)})"

    return _drawn(graph, own, paint, title, subtitle, legend)


def _order(graph: Graph) -> list[int]:
    # All nodes, parents before their children, siblings by name.
    found, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += reversed(graph.children[node])
    return found


_FRAME = re.compile(
    r'<title>[^<]*</title><rect x="[^"]*" y="(\d+)" width="[^"]*" height="\d+" '
    r'fill="([^"]*)" fg:x="(\d+)" fg:w="\d+"/><text [^>]*>'
)


def _drawn(
    graph: Graph,
    own: list[int],
    paint: Callable[[int], tuple[str, str]],
    title: str,
    subtitle: str,
    legend: list[tuple[str, str]],
) -> str:
    # inferno has one colour for a function wherever it is called, and of a change for the innermost
    # frame alone. So each frame's colour and title are put in afterwards; a frame is known by its
    # depth and where it begins.
    nodes = _order(graph)
    width = list(own)
    for node in reversed(nodes[1:]):
        width[graph.parent[node]] += width[node]
    least = max(1, int(width[0] * _NARROW))
    if sum(one >= least for one in width) > _MOST:
        # All or none of those that are as wide.
        least = sorted(width)[-_MOST - 1] + 1
    wide = [node for node in nodes if width[node] >= least]
    lines, node_at, begins = [], {}, {0: 0}
    drawn = set(wide)
    for node in wide:
        children = [child for child in graph.children[node] if child in drawn]
        rest = width[node] - sum(width[child] for child in children)
        node_at[graph.depth[node], begins[node]] = node
        place = begins[node] + rest
        for child in children:
            begins[child] = place
            place += width[child]
        if rest:
            # inferno takes what follows a space for the number.
            names = [graph.label(at) for at in graph.path(node)] or [_REST]
            lines.append(f"{';'.join(names).replace(' ', _NO_BREAK)} {rest}")
    text = flame_svg(lines, title, subtitle)
    rows = sorted({int(found[1]) for found in _FRAME.finditer(text)}, reverse=True)
    depths = {row: depth for depth, row in enumerate(rows)}

    def painted(match: re.Match[str]) -> str:
        node = node_at.get((depths[int(match[1])], int(match[3])))
        color, title = (UNCHANGED, _REST) if node is None else paint(node)
        whole = match[0].replace(f'fill="{match[2]}"', f'fill="{color}"', 1)
        # inferno's script writes the root's name, and a page without scripts needs it too.
        name = graph.label(0) if node == 0 else ""
        return f"<title>{escape(title)}</title>{whole.partition('</title>')[2]}{name}"

    text = _FRAME.sub(painted, text).replace(_NO_BREAK, " ")
    # Its document type and comments name pages of the web.
    text = re.sub(r"<!DOCTYPE[^>]*>|<!--.*?-->", "", text, flags=re.DOTALL)
    key = "".join(
        f'<tspan dx="14" fill="{color}">■</tspan><tspan dx="4">{escape(name)}</tspan>'
        for color, name in legend
    )
    subtitle_end = r'(?<=<text id="subtitle")([^>]*>[^<]*)'
    return re.sub(subtitle_end, lambda at: at[1] + key, text, count=1)


def _tint(color: str, name: str = "") -> str:
    # Light enough for black letters; neighbours differ a little. Idle's colour is light already.
    if color == KIND["idle"]:
        return color
    return on_white(color, 0.55 - 0.12 * (crc32(name.encode()) % 8) / 7)


def on_white(color: str, part: float) -> str:
    # A part of a colour, the rest white.
    parts = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(255 + (one - 255) * part):02x}" for one in parts)
