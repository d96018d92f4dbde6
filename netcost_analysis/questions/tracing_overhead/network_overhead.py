"""How much of what packet processing took from a victim is tracing itself."""

from ...answers.answer import Answer
from ...answers.question import question
from ...timeline.task import Task, row_name
from ...timeline.timeline import Timeline
from ..moments import OWNERS
from ..victim import asked_or_chosen
from .corrected_stolen import DOUBTFUL_SHARE, corrected_stolen

_NETWORK = ("stolen_network_ns", "stolen_network_max_ns")


@question(
    inputs=(OWNERS,),
    columns=("comm", "figure", "ns", "doubtful", "cost_low_share", "cost_high_share"),
    rows=0,
)
def network_overhead(timeline: Timeline, victim: Task | None = None) -> Answer:
    """How much of the time that packet processing took from a victim is tracing itself.

    A row per victim: corrected_stolen's row of stolen_network_ns, or of stolen_network_max_ns for a
    victim without any. Source: corrected_stolen.
    """
    rows = corrected_stolen(timeline, victim=victim).frame
    rows = rows[rows["figure"].isin(_NETWORK)]
    keys = [name for name in ("tid", "comm") if name in rows.columns]
    # The rows are in this order: what is surely network comes first.
    rows = rows.drop_duplicates(keys, ignore_index=True)
    name = row_name(timeline, asked_or_chosen(timeline, victim))
    return Answer(rows, of_victim=rows[rows["comm"] == name][:1], limit_share=DOUBTFUL_SHARE)
