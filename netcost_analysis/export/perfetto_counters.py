"""What was stolen from victims as counters of a trace: shares, bin by bin."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..timeline.owners import of_tasks, sums_by_thief, within_figures
from ..timeline.task import Task, rows_of
from ..units import round_width

if TYPE_CHECKING:
    import pandas as pd

    from ..timeline.timeline import Timeline

# Name, unit, times in ns, values.
Counter = tuple[str, str, list[int], list[float]]
# Bins of a timeline, at most about so many.
_BINS = 500


def counters(timeline: "Timeline", victims: Mapping[str, Task]) -> tuple[list[Counter], str | None]:
    """Of each victim its share stolen and its time on CPU, and why there are none.

    victims: by what they are called. A value holds from the start of its bin; bins begin on
    multiples of their width on the capture's clock.
    """
    if not victims or not timeline.duration_ns:
        return [], None
    if timeline.missing["on_cpu"]:
        return [], f"no counters of a victim: {timeline.missing['on_cpu']}"
    width = round_width(timeline.duration_ns, _BINS)
    sums = timeline.sums(width)
    rows = of_tasks(sums_by_thief(sums, "comm"))
    rows = rows.assign(bin_ns=sums["bin_ns"].loc[rows.index])
    every = (_of(timeline, rows_of(rows, one), name, width) for name, one in victims.items())
    return [counter for some in every for counter in some], None


def _of(timeline: "Timeline", rows: "pd.DataFrame", name: str, width: int) -> list[Counter]:
    import numpy as np

    start, end = (int(timeline.summary[edge]) for edge in ("start_ns", "end_ns"))
    bins = np.arange(start // width * width, end, width)
    what = within_figures(rows)
    on_cpu, stolen, most = (
        rows["ns"]
        .where(what[measure], 0)
        .groupby(rows["bin_ns"])
        .sum()
        .reindex(bins, fill_value=0)
        .to_numpy("int64")
        for measure in ("on_cpu_ns", "stolen_ns", "stolen_max_ns")
    )
    times = np.maximum(bins, start)
    lengths = np.minimum(bins + width, end) - times

    def percent(part: "np.ndarray", whole: "np.ndarray") -> list[float]:
        # Of no time nothing was stolen.
        return [float(one) for one in 100.0 * part / np.maximum(whole, 1)]

    at = times.tolist()
    shares = [(f"{name}: stolen", stolen)]
    if (most != stolen).any():
        shares.append((f"{name}: stolen at most", most))
    return [
        *((label, "% of its time on CPU", at, percent(part, on_cpu)) for label, part in shares),
        (f"{name}: on CPU", "% of a CPU", at, percent(on_cpu, lengths)),
    ]
