# Time from a softirq's raise to its entry.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...stats.grouped import sums_by
from ...stats.histogram import Histogram, histogram, merged
from ...timeline.timeline import Timeline
from ..folds import fold
from ..inputs import added
from ..question import question
from .common import records, rounded_spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..answer import Answer

_KEYS = ["action", "origin", "in_kthread"]


@question(
    needs=("irq:softirq_raise", "irq:softirq_entry"),
    inputs=("softirqs",),
    main_columns=(
        "action",
        "origin",
        "in_kthread",
        "softirqs",
        "median_ns",
        "p99_ns",
        "longest_ns",
    ),
)
def raise_delays(timeline: Timeline) -> pd.DataFrame:
    """Time from a softirq's first raise to its entry, by vector, origin and where it ran.

    Parameters
    ----------
    timeline : Timeline
        The window and the CPUs in question.

    Returns
    -------
    pandas.DataFrame
        A row per action, origin and in_kthread: softirqs, raises_known (those whose raise was
        seen), clamped (those of them whose raise stands at the entry or after it: their delay is
        0), mean_ns, median_ns, p90_ns, p99_ns, longest_ns (of the delays, NA without any).

    Raises
    ------
    MissingEventsError
        Without one of the events it needs.

    Notes
    -----
    Source: softirqs.
    """
    found = _delayed(timeline)
    table = found.counts.join(rounded_spread(found.delays))
    return table.sort_values("softirqs", ascending=False, kind="stable").reset_index()


class _Delayed(NamedTuple):
    # By _KEYS. counts: softirqs, raises_known, clamped; delays: of known raises, not below 0.
    counts: pd.DataFrame
    delays: Histogram


@fold("softirqs")
def _delayed(before: _Delayed | None, softirqs: pd.DataFrame) -> _Delayed:
    rows = softirqs[softirqs["entry_ns"].notna()]
    keys = rows[_KEYS]
    delay = (rows["entry_ns"] - rows["raise_ns"]).astype("Int64")
    known = delay.notna()
    values = {
        "softirqs": np.ones(len(rows), dtype="int64"),
        "raises_known": known.to_numpy("int64"),
        "clamped": (delay <= 0).fillna(False).to_numpy("int64"),
    }
    counts = sums_by(keys, values).sort_index()
    delays = histogram(delay[known].clip(lower=0).astype("int64"), keys[known])
    if before is None:
        return _Delayed(counts, delays)
    return _Delayed(added(before.counts, counts), merged(before.delays, delays))


def _of_net_rx(answer: "Answer[pd.DataFrame]") -> pd.DataFrame:
    frame = answer.frame
    return frame[(frame["action"] == "NET_RX") & (frame["raises_known"] > 0)]


@raise_delays.totals
def _totals(answer: "Answer[pd.DataFrame]") -> dict[str, Any]:
    return {"in_all": {"clamped": int(_of_net_rx(answer)["clamped"].sum())}}


@raise_delays.figures
def _figures(answer: "Answer[pd.DataFrame]") -> dict[str, Any]:
    return {"delays": records(_of_net_rx(answer)), **answer.parts["in_all"]}


def _shown(answer: "Answer[pd.DataFrame]") -> pd.DataFrame:
    # Worth a picture: the network's, then the busiest others.
    known = answer.frame[answer.frame["raises_known"] > 0]
    network = known["action"].isin(["NET_RX", "NET_TX"])
    return pd.concat([known[network].head(6), known[~network].head(4)])


@raise_delays.plot(
    title="From a softirq's raise to its entry",
    height=lambda answer: 1.2 + 0.33 * len(_shown(answer)),
    panels=lambda answer: [{}] if len(_shown(answer)) else [],
)
def _delays(ax: "Axes", answer: "Answer[pd.DataFrame]") -> None:
    from .plots import spreads

    rows = _shown(answer)
    labels = [
        f"{row['action']}, by {row['origin']}{', in a thread' if row['in_kthread'] else ''}"
        for row in records(rows)
    ]
    spreads(ax, rows, labels, "from raise to entry")
