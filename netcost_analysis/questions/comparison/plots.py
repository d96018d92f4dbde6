# The pictures of comparisons.

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ...display.metrics import moved
from ...plots.marks import CHANGE, interval, intervals
from ...plots.palette import FAINT, INK, OUTCOME, SIDE
from ...units import duration

# Changes beyond this multiple of the base are drawn as arrows.
_FAR = 2.0


def relative_changes(ax: Axes, changes: "pd.DataFrame", base_name: str, new_name: str) -> None:
    """Draw each relative change with its interval, the primary metric on top."""
    rows = changes[changes["is_relative"]].to_dict("records")
    # A very large change would squeeze the others, so it is an arrow with its value.
    within = [abs(row["change"]) for row in rows if abs(row["change"]) <= _FAR]
    reach = 100 * min(max([0.05, *(1.6 * change for change in within)]), _FAR)
    drawn = []
    for place, row in enumerate(rows):
        color = OUTCOME[row["outcome"]] if row["differs"] == "yes" else FAINT
        if not 100 * abs(row["change"]) > reach:
            size = 5 + 2 * row["is_primary"]
            drawn.append(interval(place, row, CHANGE, color, 100, markersize=size))
            continue
        edge, marker, shift, side = (
            (reach, ">", -8, "right") if row["change"] > 0 else (-reach, "<", 8, "left")
        )
        ax.plot(edge, place, marker, color=color, clip_on=False)
        ax.annotate(
            moved(row["change"], True, ""), (edge, place), xytext=(shift, 0),
            textcoords="offset points", ha=side, va="center", color=color,
        )  # fmt: skip
    intervals(ax, [row["metric"].replace("_", " ") for row in rows], drawn)
    for label, row in zip(ax.get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if row["is_primary"] else "normal")
    ax.set_xlim(-reach, reach)
    ax.set_xlabel(f"change from {base_name} to {new_name}, %")


def branches_beside(ax: Axes, leaves: "pd.DataFrame", names: tuple[str, str], unit: str) -> None:
    """Draw each branch of the last level: base's bar over the new side's."""
    for side, shift in (("base", -0.2), ("new", 0.2)):
        places = [place + shift for place in range(len(leaves))]
        ax.barh(places, leaves[f"{side}_ns_per_unit"], 0.38, color=SIDE[side])
    rows = leaves[["process_context", "cost_class", "thief"]].to_numpy()
    ax.set_yticks(range(len(rows)), [", ".join(row).replace("_", " ") for row in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.xaxis.set_major_formatter(lambda value, _: duration(value))
    ax.set_xlabel(f"CPU time per {unit}")
    bars = [Patch(color=SIDE[side], label=name) for side, name in zip(SIDE, names, strict=True)]
    ax.legend(handles=bars, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)


def predicted_beside(ax: Axes, predictions: "pd.DataFrame", throughputs: "pd.DataFrame") -> None:
    """Draw each predicted change of the throughput with its interval, and the measured ones."""
    drawn = []
    names: list[str] = []
    for row in predictions.to_dict("records"):
        columns = "predicted", "predicted_low", "predicted_high"
        drawn.append(interval(len(names), row, columns, SIDE["new"], 100))
        names.append(f"predicted by {row['softirq_work']}")
    for row in throughputs.to_dict("records"):
        color = INK if row["is_compared"] else FAINT
        drawn.append(interval(len(names), row, CHANGE, color, 100))
        names.append(f"measured: {row['measured_in']}")
    intervals(ax, names, drawn)
    ax.set_xlabel("change of the throughput, %")


def costs_beside(ax: Axes, causes: "pd.DataFrame", to_explain_ns: float, unit: str) -> None:
    """Draw how each suspect's cost per unit of work grew, with its interval."""
    columns = "difference_ns", "difference_low_ns", "difference_high_ns"
    names, drawn = [], []
    for place, row in enumerate(causes.to_dict("records")):
        drawn.append(interval(place, row, columns, INK if row["verdict"] == "kept" else FAINT))
        names.append(f"{row['suspect']} of the {row['side']}: {row['verdict']}")
    intervals(ax, names, drawn)
    ax.axvline(to_explain_ns, color=SIDE["new"], linewidth=2, label="change to explain")
    ax.xaxis.set_major_formatter(lambda value, _: duration(value))
    ax.set_xlabel(f"more time per {unit}")
    ax.legend(frameon=False)


def changes_by_cpus(ax: Axes, changes: "pd.DataFrame", metric: str) -> None:
    """Draw the change of each condition on two CPUs and, under it, on one."""
    labels = list(changes["labels"].unique())
    looks = {"two": ("on two CPUs", -0.18, SIDE["base"]), "one": ("on one CPU", 0.18, SIDE["new"])}
    drawn = []
    for row in changes.to_dict("records"):
        place = labels.index(row["labels"])
        name, shift, color = looks[row["control"]]
        named = {} if place else {"label": name}
        drawn.append(interval(place + shift, row, CHANGE, color, 100, **named))
    intervals(ax, labels, drawn)
    ax.set_xlabel(f"change of {metric.replace('_', ' ')}, %")
    ax.legend(frameon=False)
