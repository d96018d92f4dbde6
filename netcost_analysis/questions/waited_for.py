"""For whom a task waited: who had the CPU while it was runnable without one."""

from typing import TYPE_CHECKING, Any

from ..answers.question import question
from ..errors import ArgumentError
from ..timeline.by import By, check_by, victim_keys
from ..timeline.lives import LIVES, lives_columns
from ..timeline.owners import lives_by, summed
from ..timeline.task import row_name
from ..timeline.timeline import Timeline
from .stolen import share_of

if TYPE_CHECKING:
    import pandas as pd

    from ..answers.answer import Answer

# Who has a CPU of which nobody is known to have it.
_NOBODY = "(unknown)"
_HOLDERS, _WORTH_NAMING = 3, 0.001


@question(
    topic="stolen_time",
    needs=("sched:sched_switch",),
    inputs=(LIVES,),
    columns=("comm", "holder_comm", "ns", "lifetime_share"),
    rows=5,
)
def waited_for(timeline: Timeline, by: By = "comm") -> "pd.DataFrame":
    """Who had the CPU that each victim waited for, runnable.

    - by: What tells victims apart; "device" is as "comm".

    A row per victim and holder, most ns first: the victim's keys (its name is that under which it
    began to wait), holder_comm ("(idle)" where the CPU was being woken or switched, "(unknown)"
    where nobody is known to have had it, or which CPU it waited for is not), ns (int64, of the
    holder's time, with the interrupts on top of it), lifetime_share (of the victim's
    lifetime_max_ns).

    Which CPU a task waited for is known from its migrations; without sched_migrate_task where it
    ran before on the CPU on which it ran then. Source: slices and migrations. What a victim waited
    for network work in kernel threads is in it, under their names. Waits that had not ended are
    not.
    """
    import pandas as pd

    kinds = {"tid": "int64", "ns": "int64", "lifetime_share": "float64"}
    columns = holders(timeline, by).items()
    return pd.DataFrame({name: pd.Series(of, dtype=kinds.get(name, "str")) for name, of in columns})


def holders(timeline: Timeline, by: By = "comm") -> dict[str, list[Any]]:
    """waited_for() as plain columns, without pandas."""
    check_by(by)
    if by == "cpu":
        raise ArgumentError("by='cpu': a CPU waits for nobody; one of comm, tid")
    found = lives_columns(timeline, "holders")
    keys = [found[key] for key in victim_keys(by)]
    pairs = zip(zip(*keys, strict=True), found["holder_comm"], strict=True)
    ns_of = summed(zip(pairs, found["ns"], strict=True))
    # What nobody is known to have had comes behind, where it is as much.
    order = sorted(ns_of, key=lambda one: (-ns_of[one], one[1] is None, one[0], one[1] or ""))
    lived = lives_by(lives_columns(timeline, "lives"), by, "lifetime_max_ns")
    victims = [victim if by == "tid" else victim[0] for victim, _ in order]
    columns = {
        key: [victim[place] for victim, _ in order] for place, key in enumerate(victim_keys(by))
    }
    return {
        **columns,
        "holder_comm": [_NOBODY if holder is None else holder for _, holder in order],
        "ns": [ns_of[one] for one in order],
        "lifetime_share": [
            share_of(ns_of[one], lived.get(victim))
            for one, victim in zip(order, victims, strict=True)
        ],
    }


@waited_for.figures
def _of_the_victim(answer: "Answer") -> dict[str, Any]:
    # holders: for whom the timeline's victim waited most, with what share of its lifetime.
    timeline, held = answer.timeline, answer.frame
    victim = row_name(timeline, timeline.victim)
    own = held[(held["comm"] == victim) & (held["lifetime_share"] >= _WORTH_NAMING)]
    own = own.head(0 if "tid" in own else _HOLDERS)
    return {
        "victim": victim,
        "holders": list(zip(own["holder_comm"], own["lifetime_share"], strict=True)),
    }
