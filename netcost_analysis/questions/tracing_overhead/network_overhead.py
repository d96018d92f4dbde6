"""How much of what packet processing took from a victim is tracing itself."""

from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from ...answers.question import question
from ...timeline.task import Task, row_name
from ...timeline.timeline import Timeline
from ..moments import OWNERS
from ..victim import victim_of
from .corrected_stolen import DOUBTFUL_SHARE, corrected_stolen

if TYPE_CHECKING:
    from ...answers.answer import Answer

_NETWORK = ("stolen_network_ns", "stolen_network_max_ns")


@question(
    inputs=(OWNERS,),
    columns=("comm", "figure", "ns", "doubtful", "cost_low_share", "cost_high_share"),
    rows=0,
)
def network_overhead(timeline: Timeline, victim: Task | None = None) -> pd.DataFrame:
    """How much of the time that packet processing took from a victim is tracing itself.

    A row per victim: that of corrected_stolen() of stolen_network_ns, for a victim without any of
    stolen_network_max_ns.

    Source: corrected_stolen().
    """
    rows = corrected_stolen(timeline, victim=victim)
    rows = rows[rows["figure"].isin(_NETWORK)]
    keys = [name for name in ("tid", "comm") if name in rows.columns]
    # Its figures stand in that order: what surely is network comes first.
    return rows.drop_duplicates(keys, ignore_index=True)


class Beside(NamedTuple):
    """One victim's row; doubtful: "no" where it has none. share: at least, or where it is only
    perhaps doubtful, at most. limit_share: what is not doubtful has no more."""

    doubtful: str
    surely: bool
    ns: int
    share: float
    limit_share: float = DOUBTFUL_SHARE


@network_overhead.figures
def beside(answer: "Answer") -> Beside:
    victim = row_name(answer.timeline, victim_of(answer))
    own = answer.frame[answer.frame["comm"] == victim]
    if not len(own):
        return Beside("no", False, 0, 0.0)
    row = own.iloc[0]
    end = "cost_low_share" if row["doubtful"] == "yes" else "cost_high_share"
    surely = row["figure"] == _NETWORK[0]
    return Beside(str(row["doubtful"]), bool(surely), int(row["ns"]), float(row[end]))
