"""How long each task lived and what it did with that time; for whom it waited."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..answers.question import Answer, question
from ..errors import ArgumentError
from ..timeline.by import By, check_by, victim_keys
from ..timeline.lives import LIVES, everywhere, lives_columns
from ..timeline.owners import Victim, lives_by, of_its_own, summed, victims_frame
from ..timeline.task import row_name
from ..timeline.timeline import Timeline
from .stolen_sums import by_victim, share_of, stolen_sums

# The parts of a lifetime.
NAMES = {
    "own_ns": "ran itself",
    "stolen_unrecorded_ns": "ran itself or stolen, not recorded",
    "stolen_ns": "stolen",
    "stolen_or_synchronous_ns": "stolen or its own traffic",
    "synchronous_ns": "its own traffic",
    "scheduled_ns": "scheduled work of kernel threads",
    "displaced_ns": "waited for network work",
    "waited_others_ns": "waited for others",
    "asleep_ns": "asleep",
    "unaccounted_ns": "unknown",
}
# All of them but what is unknown.
KNOWN = tuple(NAMES)[:-1]
# In this order.
_COLUMNS = (
    *("tasks", "lifetime_ns", "lifetime_max_ns", "absent_ns", "stolen_unrecorded_ns", "own_ns"),
    *("stolen_ns", "stolen_or_synchronous_ns", "synchronous_ns", "scheduled_ns", "displaced_ns"),
    *("waited_others_ns", "asleep_ns", "unaccounted_ns"),
)
_TAKEN = ("stolen_ns", "stolen_or_synchronous_ns", "synchronous_ns", "scheduled_ns")


@question(
    topic="stolen_time",
    needs=("sched:sched_switch",),
    inputs=(LIVES,),
    columns=(
        *("comm", "tasks", "lifetime_ns", "own_ns", "stolen_ns", "displaced_ns"),
        *("waited_others_ns", "asleep_ns"),
    ),
    rows=5,
)
def lifetimes(timeline: Timeline, by: By = "comm") -> Answer:
    """How long each victim lived within the window, and what it did with that time.

    - timeline: The answer covers all recorded CPUs, even those that the timeline leaves out.
    - by: What tells victims apart; "device" is as "comm".

    A row per victim that had a CPU, in the order of stolen(); figures are sums over its tasks. All
    but tasks, lifetime_ns and absent_ns add up to lifetime_max_ns. Time that a task is shown on two
    CPUs at once counts once in own_ns.

    Source: the sums, slices and displaced, events of tasks that begin and end, and what the bundle
    says about its victim.
    """
    import pandas as pd

    lives = lived(timeline, by)
    victim = row_name(timeline, timeline.victim)
    row = lives.get(victim) if by in ("comm", "device") else None
    life = parts_of_life(row) if row else []
    return Answer(
        victims_frame(lives, _COLUMNS, by),
        life=pd.DataFrame(life, columns=["life_part", "ns", "lifetime_share"]),
        of_victim=row,
        victim=victim,
        window_ns=timeline.duration_ns,
    )


def lived(timeline: Timeline, by: By = "comm") -> dict[Victim, dict[str, int]]:
    """lifetimes() without pandas."""
    check_by(by)
    if by == "cpu":
        raise ArgumentError("by='cpu': a CPU has no lifetime; choose comm or tid")
    whole = everywhere(timeline)
    lives, window_ns = lives_columns(whole, "lives"), whole.duration_ns
    own = by_victim(filter(of_its_own, whole.owned_by(by)), by)
    names = ("tasks", "lifetime_ns", "lifetime_max_ns", "twice_ns", "waited_ns", "asleep_ns")
    of_life = {name: lives_by(lives, by, name) for name in names}
    rows = {}
    for victim, lost in stolen_sums(whole, by).rows.items():
        if victim in of_life["tasks"]:
            life = {name: ns[victim] for name, ns in of_life.items()}
            rows[victim] = _closed(life, lost, own.get(victim, 0), window_ns)
    return rows


def _closed(
    life: Mapping[str, int], lost: Mapping[str, Any], own_ns: int, window_ns: int
) -> dict[str, int]:
    # A row of lifetimes(). life: its row of the table lives; lost: of stolen(); own_ns: ran itself.
    ran = own_ns - life["twice_ns"]
    row = {name: life[name] for name in ("tasks", "lifetime_ns", "lifetime_max_ns")}
    row["absent_ns"] = row["tasks"] * window_ns - row["lifetime_max_ns"]
    row["stolen_unrecorded_ns"] = min(lost["stolen_unrecorded_ns"], ran)
    row["own_ns"] = ran - row["stolen_unrecorded_ns"]
    row |= {name: lost[name] for name in _TAKEN}
    # Where the CPUs' clocks disagree no wait is known.
    row["displaced_ns"] = lost["displaced_ns"] or 0
    row["waited_others_ns"] = max(life["waited_ns"] - row["displaced_ns"], 0)
    row["asleep_ns"] = life["asleep_ns"]
    row["unaccounted_ns"] = row["lifetime_max_ns"] - sum(row[name] for name in KNOWN)
    return row


def lives_together(rows: Sequence[Mapping[str, int]], unrecorded_ns: int) -> dict[str, int]:
    # Rows of lifetimes() as one, for a task with several names. unrecorded_ns: of stolen() for them
    # as one victim, since what no event shows is laid on each of them.
    row = {name: sum(row[name] for row in rows) for name in rows[0]}
    twice = max(row["stolen_unrecorded_ns"] - unrecorded_ns, 0)
    row["stolen_unrecorded_ns"] -= twice
    row["own_ns"] += twice
    return row


def parts_of_life(row: Mapping[str, Any]) -> list[tuple[str, int, float]]:
    # A row of lifetimes() as a partition: what, ns, and share of lifetime_max_ns. Parts that did
    # not occur are left out; shares add up to 1.
    parts = ((words, int(row[name])) for name, words in NAMES.items())
    return [(words, ns, ns / int(row["lifetime_max_ns"])) for words, ns in parts if ns > 0]


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
    """Which tasks had the CPU while each victim was runnable and waited for it.

    - by: What tells victims apart; "device" is as "comm".

    A row per victim, under the name with which it began to wait, and holder. The holder is "(idle)"
    while the CPU was being woken or switched, and "(unknown)" if the CPU or its owner is unknown.
    The CPU is known from migrations; without sched_migrate_task only if the victim had run on the
    same CPU before. Waits for network work in kernel threads are included, under the threads'
    names. Waits that had not ended are not.

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
        raise ArgumentError("by='cpu': a CPU does not wait; choose comm or tid")
    held = lives_columns(timeline, "holders")
    names = victim_keys(by)
    victims = zip(*(held[name] for name in names), strict=True)
    pairs = zip(victims, held["holder_comm"], strict=True)
    ns_of = summed(zip(pairs, held["ns"], strict=True))
    # Of equal times the unknown holder comes last.
    order = sorted(ns_of, key=lambda pair: (-ns_of[pair], pair[1] is None, pair[0], pair[1] or ""))
    lived = lives_by(lives_columns(timeline, "lives"), by, "lifetime_max_ns")
    return {
        **{name: [victim[place] for victim, _ in order] for place, name in enumerate(names)},
        "holder_comm": [_NOBODY if holder is None else holder for _, holder in order],
        "ns": [ns_of[pair] for pair in order],
        "lifetime_share": [
            share_of(ns_of[pair], lived.get(pair[0] if by == "tid" else pair[0][0]))
            for pair in order
        ],
    }
