# The pictures of what may have caused a change: predicted beside measured, costs, the control.

from typing import TYPE_CHECKING

from ...plots.palette import FAINT, INK, SIDE
from ...units import duration

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def predicted_beside(ax: "Axes", predictions: "pd.DataFrame", throughputs: "pd.DataFrame") -> None:
    """Draw each predicted change of the throughput with its interval, and the measured one."""
    ends = ("{}", "{}_low", "{}_high")
    rows = [
        (
            f"predicted by {row['softirq_work']}",
            SIDE["new"],
            *(row[e.format("predicted")] for e in ends),
        )
        for row in predictions.to_dict("records")
    ]
    for row in throughputs.to_dict("records"):
        color = INK if row["is_compared"] else FAINT
        rows.append(
            (f"measured: {row['measured_in']}", color, *(row[e.format("change")] for e in ends))
        )
    for place, (_, color, at, low, high) in enumerate(rows):
        if low == low:
            ax.plot([100 * low, 100 * high], [place, place], color=color, linewidth=2)
        ax.plot(100 * at, place, "o", color=color)
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_yticks(range(len(rows)), [name for name, *_ in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlabel("change of the throughput, %")


def costs_beside(ax: "Axes", causes: "pd.DataFrame", to_explain: "pd.DataFrame", unit: str) -> None:
    """Draw how each suspect's cost per unit of work grew, with its interval."""
    rows = causes.to_dict("records")
    (passed,) = to_explain.to_dict("records")
    for place, row in enumerate(rows):
        color = INK if row["verdict"] == "kept" else FAINT
        low, high = row["difference_low_ns"], row["difference_high_ns"]
        if low == low:
            ax.plot([low, high], [place, place], color=color, linewidth=2)
        ax.plot(row["difference_ns"], place, "o", color=color)
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.axvline(passed["difference_ns"], color=SIDE["new"], linewidth=2, label="change to explain")
    names = [f"{row['suspect']} of the {row['side']}: {row['verdict']}" for row in rows]
    ax.set_yticks(range(len(rows)), names)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.xaxis.set_major_formatter(lambda value, _: duration(value))
    ax.set_xlabel(f"more time per {unit}")
    ax.legend(frameon=False)


def changes_by_cpus(ax: "Axes", changes: "pd.DataFrame", labels: list[str], metric: str) -> None:
    """Draw the change of each condition on two CPUs and, under it, on one."""
    places = {name: place for place, name in enumerate(labels)}
    colors = {"two": SIDE["base"], "one": SIDE["new"]}
    for row in changes.to_dict("records"):
        place = places[row["labels"]] + (0.18 if row["control"] == "one" else -0.18)
        color = colors[row["control"]]
        low, high = 100 * row["change_low"], 100 * row["change_high"]
        if low == low:
            ax.plot([low, high], [place, place], color=color, linewidth=2)
        first = not places[row["labels"]]
        named = {"two": "on two CPUs", "one": "on one CPU"}[row["control"]] if first else None
        ax.plot(100 * row["change"], place, "o", color=color, label=named)
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_yticks(range(len(places)), list(places))
    ax.set_ylim(len(places) - 0.5, -0.5)
    ax.set_xlabel(f"change of {metric.replace('_', ' ')}, %")
    ax.legend(frameon=False)
