# Pictures of a fleet: each takes tidy DataFrames and an Axes, and draws.

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from ...plots.marks import label_rows, legend_above, short
from ...plots.palette import FAINT, INK, KIND, OUTCOME, path_colors, printable, time_unit

_MAX_ROWS = 20
_LONGEST = 34


def prices(ax: Axes, frame: pd.DataFrame, name: str) -> None:
    # A bar for what a packet costs in each row; a line from its cheapest to its dearest capture.
    rows = frame[frame["ns_per_work"].notna()][:_MAX_ROWS]
    scale, unit = time_unit(float(rows["highest_ns_per_work"].max()))
    places = np.arange(len(rows))
    ax.barh(places, rows["ns_per_work"] / scale, 0.62, color=KIND["poll"])
    ax.hlines(
        places,
        rows["lowest_ns_per_work"] / scale,
        rows["highest_ns_per_work"] / scale,
        color=INK,
        linewidth=1.1,
    )
    label_rows(ax, [short(one, _LONGEST) for one in rows[name]])
    ax.set_xlim(left=0)
    ax.set_xlabel(f"CPU time of a packet, {unit}; line: from the cheapest capture to the dearest")
    ax.grid(axis="x")


def strips(ax: Axes, rows: pd.DataFrame, outlying: Collection[str]) -> None:
    # A point for each capture, a row for each kernel and driver.
    known = rows[rows["ns_per_work"] > 0]
    scale, unit = time_unit(float(known["ns_per_work"].median()))
    names = []
    for place, ((kernel, driver), of) in enumerate(known.groupby(["kernel", "driver"])):
        names.append(short(f"{kernel}, {driver}", _LONGEST))
        far = of["path"].isin(list(outlying))
        # Spread over the row, so that points that lie on each other are seen.
        across = place + 0.5 * ((np.arange(len(of)) * 0.618) % 1 - 0.5)
        values = of["ns_per_work"] / scale
        ax.plot(values[~far], across[~far], "o", color=KIND["softirq"], markersize=3, alpha=0.6)
        ax.plot(values[far], across[far], "o", color=OUTCOME["worse"], markersize=5)
    label_rows(ax, names)
    ax.set_xlim(left=0)
    ax.set_xlabel(f"CPU time of a packet, {unit}")
    ax.grid(axis="x")


def over_days(ax: Axes, rows: pd.DataFrame, metric: str) -> None:
    # The captures of a series over time, a colour for each host, and the level between changes.
    times = pd.to_datetime(rows["recorded_at"])
    scale, unit = (time_unit(float(rows["metric_value"].max())) if metric == "ns_per_work"
                   else (0.01, "%"))  # fmt: skip
    hosts = list(map(str, rows["hostname"].unique()))
    colors = path_colors(hosts)
    for host in hosts:
        own = rows["hostname"] == host
        look = {"color": colors[host], "markersize": 4, "alpha": 0.75}
        ax.plot(times[own], rows.loc[own, "metric_value"] / scale, "o",
                label=short(host, 24), **look)  # type: ignore[arg-type]  # fmt: skip
    ax.step(times, rows["level_here"] / scale, where="post", color=INK, linewidth=1.4)
    # No line between levels that are far apart in time would say less.
    ax.set_ylim(bottom=0)
    locator = AutoDateLocator(maxticks=9)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    formatter = ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_formatter(formatter)
    what = "CPU time of a packet" if metric == "ns_per_work" else "share stolen"
    ax.set_ylabel(f"{what}, {unit}")
    ax.grid(axis="y")
    if len(hosts) <= 10:
        legend_above(ax, None, 6)


def sizes(ax: Axes, frame: pd.DataFrame, groups: Sequence[str]) -> None:
    # Of each group the share of its polls that had a packet count or fewer.
    colors = path_colors(list(groups))
    for group in groups:
        polls = frame[frame["group"] == group].groupby("work")["polls"].sum()
        ax.step(
            polls.index,
            polls.cumsum() / polls.sum(),
            where="post",
            color=colors[group],
            label=short(printable(group), _LONGEST),
        )
    ax.set_ylim(0, 1.02)
    ax.set_xlim(left=0)
    ax.set_xlabel("packets in a poll, or fewer")
    ax.set_ylabel("share of the polls")
    ax.grid(axis="y", color=FAINT, alpha=0.3)
    legend_above(ax, None, 4)
