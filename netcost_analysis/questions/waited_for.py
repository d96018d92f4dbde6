"""For whom a task waited: who had the CPU while it was runnable without one."""

from typing import Any

from ..answers.answer import Answer
from ..answers.question import question
from ..errors import ArgumentError
from ..timeline.by import By, check_by, victim_keys
from ..timeline.lives import LIVES, lives_columns
from ..timeline.owners import lives_by, summed
from ..timeline.task import row_name
from ..timeline.timeline import Timeline
from .stolen_sums import share_of

# The holder of a CPU without a known owner.
_NOBODY = "(unknown)"


@question(
    topic="stolen_time",
    needs=("sched:sched_switch",),
    inputs=(LIVES,),
    columns=("comm", "holder_comm", "ns", "lifetime_share"),
    rows=5,
)
def waited_for(timeline: Timeline, by: By = "comm") -> Answer:
    """Who had the CPU that each victim waited for, runnable.

    - by: What tells victims apart; "device" is as "comm".

    A row per victim, under the name with which it began to wait, and holder: "(idle)" where the CPU
    was being woken or switched, "(unknown)" where the CPU or its owner is unknown. The CPU is known
    from migrations; without sched_migrate_task only where the victim had run on the same CPU
    before. Waits for network work in kernel threads are included, under the threads' names; waits
    that had not ended are not.

    Source: slices and migrations.
    """
    import pandas as pd

    kinds = {"tid": "int64", "ns": "int64", "lifetime_share": "float64"}
    columns = {
        name: pd.Series(values, dtype=kinds.get(name, "str"))
        for name, values in holders(timeline, by).items()
    }
    victim = None if by == "tid" else row_name(timeline, timeline.victim)
    return Answer(pd.DataFrame(columns), victim=victim)


def holders(timeline: Timeline, by: By = "comm") -> dict[str, list[Any]]:
    """waited_for() as plain columns, without pandas."""
    check_by(by)
    if by == "cpu":
        raise ArgumentError("by='cpu': a CPU waits for nobody; one of comm, tid")
    held = lives_columns(timeline, "holders")
    victims = zip(*(held[name] for name in victim_keys(by)), strict=True)
    pairs = zip(victims, held["holder_comm"], strict=True)
    ns_of = summed(zip(pairs, held["ns"], strict=True))
    # Of equal times the unknown holder comes last.
    order = sorted(ns_of, key=lambda pair: (-ns_of[pair], pair[1] is None, pair[0], pair[1] or ""))
    lived = lives_by(lives_columns(timeline, "lives"), by, "lifetime_max_ns")
    names = victim_keys(by)
    return {
        **{name: [victim[place] for victim, _ in order] for place, name in enumerate(names)},
        "holder_comm": [_NOBODY if holder is None else holder for _, holder in order],
        "ns": [ns_of[pair] for pair in order],
        "lifetime_share": [
            share_of(ns_of[pair], lived.get(pair[0] if by == "tid" else pair[0][0]))
            for pair in order
        ],
    }
