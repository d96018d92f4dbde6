# A flame graph among an answer's pictures: the same tree as netcost flame draws, without a script.

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.collections import PolyCollection

from ...plots.palette import INK, KIND
from ...units import duration
from .contexts import CONTEXTS
from .flame import Graph
from .flame_formats import on_white

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of the width: what is narrower is not drawn, and what has room for letters.
_NARROW, _LETTER = 1 / 800, 1 / 175
# Deeper frames are left out: a page has room for so many.
MOST_DEEP = 26


def flame(ax: "Axes", graph: Graph, unit: str) -> None:
    """Draw one capture's graph, the outermost frames below. unit: "ns", or what was sampled."""
    total = int(graph.weights[0, 0])
    boxes: list[list[tuple[float, float]]] = []
    colours: list[str] = []
    waiting, top, cut = [(0, 0.0)], 0, ""
    while waiting:
        node, right = waiting.pop()
        for child in graph.children[node]:
            width, row = float(graph.weights[0, child]) / total, int(graph.depth[child]) - 1
            left, right = right, right + width
            if width >= _NARROW and row >= MOST_DEEP:
                cut = f"; deeper than {MOST_DEEP} frames is not drawn"
            elif width >= _NARROW:
                waiting.append((child, left))
                top = max(top, row)
                boxes.append([(left, row), (right, row), (right, row + 1), (left, row + 1)])
                # Light enough for dark letters.
                colours.append(on_white(KIND[CONTEXTS[graph.context[child]]], 0.5))
                _name(ax, graph.label(child), left, width, row)
    ax.add_collection(PolyCollection(boxes, facecolors=colours, edgecolors="white", linewidths=0.5))
    ax.set_xlim(0, 1)
    ax.set_ylim(0, top + 1)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xticks(np.linspace(0, 1, 5), [f"{share} %" for share in (0, 25, 50, 75, 100)])
    whole = duration(total) if unit == "ns" else f"{total:,} {unit}"
    ax.set_xlabel(f"of {whole}{cut}")


def _name(ax: "Axes", name: str, left: float, width: float, row: int) -> None:
    letters = int(width / _LETTER) - 1
    if letters >= 3:
        shown = name if len(name) <= letters else name[: letters - 1] + "…"
        ax.text(left + 0.002, row + 0.5, shown, fontsize=6.5, va="center", color=INK, clip_on=True)
