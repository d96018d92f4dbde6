# When costs changed: change points in the series of each kernel and driver.

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...display.tables import listed
from ...fleet import Fleet
from ...plots.palette import INK, path_colors, time_unit
from ...stats.change import adjusted, combined
from ...stats.change_points import ChangePoint, change_points, first_chance
from ...stats.resampling import Floats, Ints
from .captures import capture_costs, command_for, require_answers, shown_time
from .outliers import METRICS, PARTS, parts_of

# What is shown as a change of a fleet: corrected for the number of series.
_CHANCE = 0.05
_PARTED = ["ns_per_work", "interrupt_ns_per_work", "batch_mean", "squeezed_share"]
_CHANGES = [
    *("kernel", "driver", "metric", "changed_at", "level_before", "level_after"),
    *("change", "change_low", "change_high", "p_value", "p_adjusted"),
    *("captures_before", "captures_after", *PARTS, "because", "path", "command"),
]
_SERIES = [
    *("kernel", "driver", "metric", "recorded_at", "metric_value", "level_here"),
    *("hostname", "path"),
]


@question(
    topic="fleet",
    check=require_answers,
    main="changes",
    rows=40,
    columns=(
        *("changed_at", "kernel", "metric", "change", "because", "change_low", "change_high"),
        *("level_before", "level_after", "p_adjusted", "driver", "path", "command"),
    ),
    shares=("change", "change_low", "change_high"),
)
def trend(fleet: Fleet) -> Answer:
    """When the cost of packets, or the share stolen, changed, on which kernel and driver.

    A row per change, the clearest first; its path is that of the first capture after it. `series`:
    the captures, in order of time, each with its level.

    A series has the captures of one kernel and driver whose time is known. Each host's median is
    subtracted from the logarithms, so that an expensive host does not look like a change. Change
    points: `netcost_analysis/stats/change_points.py`, with a 1 % chance of finding any in a series
    in which nothing changes. A change is left out if its chance, corrected for the number of series
    (Benjamini, Hochberg), is over 5 %. The interval of a change is a BCa bootstrap over captures of
    hosts that were recorded on both sides. Source: the fleet's answers and devices.
    """
    rows = capture_costs(fleet)
    timed = rows[rows["recorded_at"].notna()]
    timed = timed.sort_values(["recorded_at", "path"], kind="stable")
    every = [
        _Series({"kernel": kernel, "driver": driver, "metric": metric}, known)
        for metric in METRICS
        for (kernel, driver), alike in timed.groupby(["kernel", "driver"])
        if len(known := alike[alike[metric] > 0]) > 1
    ]
    corrected = adjusted(np.array([series.chance for series in every], dtype="float64"))
    changes: list[dict[str, Any]] = []
    levels = [pd.DataFrame(columns=_SERIES)]
    for series, p in zip(every, corrected.tolist(), strict=True):
        points = change_points(series.logs, series.hosts) if p <= _CHANCE else []
        changes += [change | {"p_adjusted": p} for change in series.changes(points)]
        levels.append(series.levels(points))
    frame = pd.DataFrame(changes, columns=_CHANGES)
    return Answer(
        changes=frame.sort_values(["p_value", "changed_at"], kind="stable", ignore_index=True),
        series=pd.concat(levels, ignore_index=True),
        series_looked_at=len(every),
    )


class _Series:
    # The captures of one kernel and driver, in order of time.
    def __init__(self, keys: dict[str, Any], rows: pd.DataFrame) -> None:
        self.keys, self.metric = keys, keys["metric"]
        self.rows = rows.reset_index(drop=True)
        self.values: Floats = self.rows[self.metric].to_numpy("float64")
        self.logs: Floats = np.log(self.values)
        self.hosts: Ints = pd.factorize(self.rows["hostname"])[0].astype("int64")
        self.chance = first_chance(self.logs, self.hosts)

    def changes(self, points: list[ChangePoint]) -> Iterator[dict[str, Any]]:
        # Each from the change point before it, or the series' begin, to the next one.
        places = [0, *(point.first for point in points), len(self.values)]
        for start, point, end in zip(places, points, places[2:], strict=False):
            before, after = self._levelled(start, point.first, end)
            change = combined(
                lambda one, other, before=before, after=after: (
                    np.median(after[other], axis=-1) / np.median(before[one], axis=-1) - 1
                ),
                *(len(before), len(after)),
            )
            first = self.rows.loc[point.first]
            why: dict[str, Any] = {"because": ""}
            if self.metric == "ns_per_work":
                usual = self.rows[point.first : end][_PARTED].median().to_dict()
                why = parts_of(usual, self.rows[start : point.first])
            yield {
                **self.keys,
                "changed_at": shown_time(self.rows.loc[[point.first], "recorded_at"]).iloc[0],
                "level_before": float(np.median(before)),
                "level_after": float(np.median(after)),
                "change": change.value,
                "change_low": change.low,
                "change_high": change.high,
                "p_value": point.p,
                "captures_before": point.first - start,
                "captures_after": end - point.first,
                **why,
                "path": first["path"],
                "command": command_for(str(first["path"])),
            }

    def _levelled(self, start: int, at: int, end: int) -> tuple[Floats, Floats]:
        # Figures of hosts that are on both sides, each host's brought to the level of all; where no
        # host is, those of all.
        both = np.intersect1d(self.hosts[start:at], self.hosts[at:end])
        part = np.arange(start, end)
        kept = part[np.isin(self.hosts[part], both)] if len(both) else part
        logs = self.logs.copy()
        middle = float(np.median(logs[kept]))
        for host in both:
            own = kept[self.hosts[kept] == host]
            sides = [np.median(logs[own[own < at]]), np.median(logs[own[own >= at]])]
            logs[own] += middle - float(np.mean(sides))
        return np.exp(logs[kept[kept < at]]), np.exp(logs[kept[kept >= at]])

    def levels(self, points: list[ChangePoint]) -> pd.DataFrame:
        places = [0, *(point.first for point in points), len(self.values)]
        parts = [self.values[start:end] for start, end in pairwise(places)]
        frame = self.rows.assign(
            **self.keys,
            recorded_at=shown_time(self.rows["recorded_at"]),
            metric_value=self.values,
            level_here=np.concatenate([np.full(len(part), np.median(part)) for part in parts]),
        )
        return frame[_SERIES]


def _titled(_: Any, metric: str, kernel: str, driver: str) -> str:
    what = "CPU time of a packet" if metric == "ns_per_work" else "Share stolen from tasks"
    return f"{what} over time: kernel {kernel}, driver {driver}"


@trend.plot(
    title=_titled,
    # Series with a change, in that order.
    panels=lambda answer: listed(
        answer.frame[["metric", "kernel", "driver"]].drop_duplicates()[:4]
    ),
)
def _plot(ax: Axes, answer: Answer, metric: str, kernel: str, driver: str) -> None:
    # The captures of a series over time, a colour for each host, and the level between changes.
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    from ...plots.marks import legend_above, short

    rows = answer["series"]
    rows = rows[rows[["metric", "kernel", "driver"]].eq([metric, kernel, driver]).all(axis=1)]
    is_price = metric == "ns_per_work"
    scale, unit = time_unit(float(rows["metric_value"].max())) if is_price else (0.01, "%")
    times = pd.to_datetime(rows["recorded_at"])
    hosts = list(map(str, rows["hostname"].unique()))
    colors = path_colors(hosts)
    for host in hosts:
        own = rows["hostname"] == host
        look: dict[str, Any] = {"color": colors[host], "markersize": 4, "alpha": 0.75}
        values = rows.loc[own, "metric_value"] / scale
        ax.plot(times[own], values, "o", label=short(host, 24), **look)
    ax.step(times, rows["level_here"] / scale, where="post", color=INK, linewidth=1.4)
    # No line between levels that are far apart in time would say less.
    ax.set_ylim(bottom=0)
    locator = AutoDateLocator(maxticks=9)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    formatter = ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_formatter(formatter)
    ax.set_ylabel(f"{'CPU time of a packet' if is_price else 'share stolen'}, {unit}")
    ax.grid(axis="y")
    if len(hosts) <= 10:
        legend_above(ax, None, 6)
