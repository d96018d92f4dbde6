# A flame graph among an answer's pictures: the same tree as netcost flame draws, without a script.

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import PolyCollection

from ...plots.palette import INK, KIND
from ...units import duration
from .contexts import CONTEXTS
from .flame import Graph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of the width: what is narrower is not drawn, and what has room for letters.
_NARROW, _LETTER = 1 / 800, 1 / 175
# Deeper frames are left out: a page has room for so many.
MOST_DEEP = 26


def flame(ax: "Axes", graph: Graph, unit: str) -> None:
    """Draw one capture's graph, the outermost frames below. unit: "ns", or what was sampled."""
    total = int(graph.weights[0, 0])
    begins: dict[int, float] = {0: 0.0}
    boxes: list[list[tuple[float, float]]] = []
    colours: list[Any] = []
    waiting, top, is_cut = [0], 0, False
    while waiting:
        node = waiting.pop()
        at = begins[node]
        for child in graph.children[node]:
            width = float(graph.weights[0, child]) / total
            begins[child] = at
            at += width
            if width < _NARROW:
                continue
            row = int(graph.depth[child]) - 1
            if row >= MOST_DEEP:
                is_cut = True
                continue
            waiting.append(child)
            top = max(top, row)
            left = begins[child]
            boxes.append(
                [(left, row), (left + width, row), (left + width, row + 1), (left, row + 1)]
            )
            colours.append(_tint(KIND[CONTEXTS[graph.context[child]]]))
            _name(ax, graph.label(child), left, width, row)
    ax.add_collection(PolyCollection(boxes, facecolors=colours, edgecolors="white", linewidths=0.5))
    ax.set_xlim(0, 1)
    ax.set_ylim(0, top + 1)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xticks(np.linspace(0, 1, 5), [f"{share:.0f} %" for share in (0, 25, 50, 75, 100)])
    whole = duration(total) if unit == "ns" else f"{total:,} {unit}"
    cut = f"; deeper than {MOST_DEEP} frames is not drawn" if is_cut else ""
    ax.set_xlabel(f"of {whole}{cut}")


def _name(ax: "Axes", name: str, left: float, width: float, row: int) -> None:
    letters = int(width / _LETTER) - 1
    if letters < 3:
        return
    shown = name if len(name) <= letters else name[: letters - 1] + "…"
    ax.text(left + 0.002, row + 0.5, shown, fontsize=6.5, va="center", color=INK, clip_on=True)


def _tint(colour: str) -> tuple[float, ...]:
    # Light enough for dark letters.
    part = 0.5
    return tuple(1 + (int(colour[at : at + 2], 16) / 255 - 1) * part for at in (1, 3, 5))
