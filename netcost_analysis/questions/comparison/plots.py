# The pictures of a comparison.

from typing import TYPE_CHECKING

from matplotlib.patches import Patch

from ...plots.palette import FAINT, INK, OUTCOME, SIDE
from ...units import duration
from .words import moved

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# A change by so much, of the base's figure, is beyond the picture.
_FAR = 2.0


def changes_with_intervals(
    ax: "Axes", changes: "pd.DataFrame", base_name: str, new_name: str
) -> None:
    """Draw each relative change with its interval, the primary metric on top."""
    rows = changes[changes["is_relative"]].to_dict("records")[::-1]
    # A change by many times would leave no room for the others: it is an arrow with its figure.
    within = [abs(row["change"]) for row in rows if abs(row["change"]) <= _FAR]
    reach = 100 * min(max([0.05, *(1.6 * one for one in within)]), _FAR)
    for place, row in enumerate(rows):
        color = OUTCOME[row["outcome"]] if row["differs"] == "yes" else FAINT
        at, low, high = (100 * row[name] for name in ("change", "change_low", "change_high"))
        if abs(at) > reach:
            edge = reach if at > 0 else -reach
            ax.plot(edge, place, ">" if at > 0 else "<", color=color, clip_on=False)
            text, side = moved(row["change"], True, ""), "right" if at > 0 else "left"
            ax.annotate(
                text, (edge, place), xytext=(-8 if at > 0 else 8, 0),
                textcoords="offset points", ha=side, va="center", color=color,
            )  # fmt: skip
            continue
        if low == low:
            ax.plot([low, high], [place, place], color=color, linewidth=2, solid_capstyle="butt")
        ax.plot(at, place, "o", color=color, markersize=5 + 2 * row["is_primary"])
    ax.set_xlim(-reach, reach)
    ax.axvline(0, color=INK, linewidth=0.8)
    names = [row["metric"].replace("_", " ") for row in rows]
    ax.set_yticks(range(len(rows)), names)
    for label, row in zip(ax.get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if row["is_primary"] else "normal")
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.set_xlabel(f"change from {base_name} to {new_name}, %")


def tree_beside(ax: "Axes", leaves: "pd.DataFrame", names: tuple[str, str], unit: str) -> None:
    """Draw each branch of the last level: base's bar over the new side's."""
    rows = leaves.to_dict("records")[::-1]
    for place, row in enumerate(rows):
        for side, shift in (("base", 0.2), ("new", -0.2)):
            ax.barh(place + shift, row[f"{side}_ns_per_unit"], 0.38, color=SIDE[side])
    labels = [f"{row['process_context']}, {row['cost_class']}, {row['thief']}" for row in rows]
    ax.set_yticks(range(len(rows)), [label.replace("_", " ") for label in labels])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.xaxis.set_major_formatter(lambda value, _: duration(value))
    ax.set_xlabel(f"CPU time per {unit}")
    bars = [Patch(color=SIDE[side], label=name) for side, name in zip(SIDE, names, strict=True)]
    # Above the picture, where no bar is.
    ax.legend(handles=bars, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
