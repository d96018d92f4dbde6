# When costs changed: change points in the series of each kernel and driver.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...answers.question import question
from ...fleet.fleet import Fleet
from ...stats.change import adjusted, change_of, repeats
from ...stats.change_points import change_points, first_chance
from ...stats.resampling import Floats, Ints
from ..batches.common import records
from .costs import require_answers
from .measured import command_for, measured, shown_time
from .outliers import METRICS
from .parts import PARTS, parts_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

# What is shown as a change of a fleet: corrected for the number of series.
_CHANCE = 0.05
_CHANGES = [
    *(
        "kernel",
        "driver",
        "metric",
        "changed_at",
        "level_before",
        "level_after",
        "change",
        "change_low",
    ),
    *("change_high", "p_value", "p_adjusted", "captures_before", "captures_after"),
    *(*PARTS, "because", "path", "command"),
]
_SERIES = [
    "kernel",
    "driver",
    "metric",
    "recorded_at",
    "metric_value",
    "level_here",
    "hostname",
    "path",
]


class Trend(NamedTuple):
    """Answer of `trend`.

    Attributes
    ----------
    changes : pandas.DataFrame
        A row per change point.
    series : pandas.DataFrame
        A row per capture and metric: what was measured, and the level between change points.
    """

    changes: pd.DataFrame
    series: pd.DataFrame


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
def trend(fleet: Fleet) -> Trend:
    """When the cost of packets, or the share stolen, changed, on which kernel and driver.

    changes, the plainest first: kernel, driver, metric, changed_at (of the first capture after it,
    which is path), level_before and level_after (medians, on the level of all hosts), change with
    its interval, p_value, p_adjusted, captures_before, captures_after, the parts of the change,
    because, command. series: the captures, in order of time, each with the level it is on
    (level_here).

    A series has the captures of one kernel and driver of which a time is known. Of logarithms each
    host's median is taken away, so that a host that is dear is no change. Change points:
    `netcost_analysis/stats/change_points.py`, with a chance of 1 % of finding any in a series in
    which nothing changes; those are left out whose chance, corrected for the number of series
    (Benjamini, Hochberg), is above 5 %. The interval of a change is BCa bootstrap over captures of
    hosts that were recorded on both sides. Source: the fleet's answers and devices.
    """
    rows = measured(fleet)
    timed = rows[rows["recorded_at"].notna()]
    timed = timed.sort_values(["recorded_at", "path"], kind="stable")
    every = [
        _Series(str(kernel), str(driver), metric, own)
        for metric in METRICS
        for (kernel, driver), of in timed.groupby(["kernel", "driver"])
        if len(own := of[of[metric] > 0]) > 1
    ]
    corrected = adjusted(np.array([one.chance for one in every], dtype="float64"))
    changes: list[dict[str, Any]] = []
    series = []
    for one, p in zip(every, corrected.tolist(), strict=True):
        points = one.points if p <= _CHANCE else []
        changes += [one.change(at, p, points) for at in points]
        series.append(one.levels(points))
    frame = pd.DataFrame(changes, columns=_CHANGES)
    frame = frame.sort_values(["p_value", "changed_at"], kind="stable", ignore_index=True)
    return Trend(frame, pd.concat([pd.DataFrame(columns=_SERIES), *series], ignore_index=True))


class _Series:
    # The captures of one kernel and driver, in order of time.
    def __init__(self, kernel: str, driver: str, metric: str, rows: pd.DataFrame) -> None:
        self.kernel, self.driver, self.metric = kernel, driver, metric
        self.rows = rows.reset_index(drop=True)
        self.values: Floats = self.rows[metric].to_numpy("float64")
        self.hosts: Ints = pd.factorize(self.rows["hostname"])[0].astype("int64")
        self.chance = first_chance(np.log(self.values), self.hosts)

    @property
    def points(self) -> list[int]:
        return [one.first for one in change_points(np.log(self.values), self.hosts)]

    def change(self, at: int, p: float, points: list[int]) -> dict[str, Any]:
        # From the change point before it, or the series' begin, to the next one.
        places = [0, *points, len(self.values)]
        here = places.index(at)
        start, end = places[here - 1], places[here + 1]
        before, after = self._levelled(start, at, end)
        found = change_of(repeats(before), repeats(after), relative=True)
        first = self.rows.iloc[at]
        why = self._why(start, at, end)
        return {
            "kernel": self.kernel,
            "driver": self.driver,
            "metric": self.metric,
            "changed_at": shown_time(self.rows.loc[[at], "recorded_at"]).iloc[0],
            "level_before": found.base,
            "level_after": found.new,
            "change": found.change,
            "change_low": found.low,
            "change_high": found.high,
            "p_value": next(
                one.p for one in change_points(np.log(self.values), self.hosts) if one.first == at
            ),
            "p_adjusted": p,
            "captures_before": at - start,
            "captures_after": end - at,
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
        values = np.log(self.values)
        middle = float(np.median(values[kept]))
        for host in both:
            own = kept[self.hosts[kept] == host]
            sides = [np.median(values[own[own < at]]), np.median(values[own[own >= at]])]
            values[own] += middle - float(np.mean(sides))
        return np.exp(values[kept[kept < at]]), np.exp(values[kept[kept >= at]])

    def _why(self, start: int, at: int, end: int) -> dict[str, Any]:
        if self.metric != "ns_per_work":
            return dict.fromkeys(PARTS, float("nan")) | {"because": ""}
        names = ["ns_per_work", "interrupt_ns_per_work", "batch_mean", "squeezed_share"]
        usual = {name: float(self.rows[at:end][name].median()) for name in names}
        return parts_of(usual, self.rows[start:at])

    def levels(self, points: list[int]) -> pd.DataFrame:
        level = np.empty(len(self.values))
        for start, end in zip([0, *points], [*points, len(self.values)], strict=True):
            level[start:end] = np.median(self.values[start:end])
        return pd.DataFrame(
            {
                "kernel": self.kernel,
                "driver": self.driver,
                "metric": self.metric,
                "recorded_at": shown_time(self.rows["recorded_at"]),
                "metric_value": self.values,
                "level_here": level,
                "hostname": self.rows["hostname"],
                "path": self.rows["path"],
            }
        )[_SERIES]


@trend.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    keys = ["kernel", "driver", "metric"]
    return {"series_looked_at": len(answer.result.series[keys].drop_duplicates())}


@trend.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return {
        "changes": records(answer.result.changes),
        "looked_at": answer.parts["series_looked_at"],
    }


def _drawn(answer: "Answer") -> list[dict[str, str]]:
    # Series with a change, in that order.
    changes = answer.result.changes[["metric", "kernel", "driver"]].drop_duplicates()
    return [{str(name): str(of) for name, of in row.items()} for row in records(changes)][:4]


def _titled(_: Any, metric: str, kernel: str, driver: str) -> str:
    what = "CPU time of a packet" if metric == "ns_per_work" else "Share stolen from tasks"
    return f"{what} over time: kernel {kernel}, driver {driver}"


@trend.plot(title=_titled, height=3.0, panels=_drawn)
def _plot(ax: "Axes", answer: "Answer", metric: str, kernel: str, driver: str) -> None:
    from .plots import over_days

    rows = answer.result.series
    own = (rows["metric"] == metric) & (rows["kernel"] == kernel) & (rows["driver"] == driver)
    over_days(ax, rows[own], metric)
