"""For whom a task waited: who had the CPU while it was runnable without one."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...errors import ArgumentError
from ...timeline.aggregate import plain_names
from ...timeline.by import By, check_by, victim_keys
from ...timeline.task import comm_of
from ...timeline.timeline import Timeline
from ..inputs import rows
from ..question import question
from .lives import away_of, lived_by
from .waiting import Held, displaced_in, moved

if TYPE_CHECKING:
    from ..answer import Answer

# Who has a CPU that is idle, or of which nobody is known to have it.
_IDLE, _NOBODY = "(idle)", "(unknown)"
_HOLDERS, _WORTH_NAMING = 3, 0.001


@question(
    needs=("sched:sched_switch", "sched:sched_migrate_task"),
    inputs=("slices", "migrations"),
    main_columns=("comm", "holder_comm", "ns", "lifetime_share"),
    rows=5,
)
def waited_for(timeline: Timeline, by: By = "comm") -> pd.DataFrame:
    """Who had the CPU that each victim waited for, runnable.

    Parameters
    ----------
    timeline : Timeline
        What is asked.
    by : {"comm", "tid"}
        What tells victims apart; "device" is as "comm".

    Returns
    -------
    DataFrame
        A row per victim and holder, most ns first: the victim's keys (its name is that under which
        it began to wait), holder_comm ("(idle)" where the CPU was being woken or switched,
        "(unknown)" where nobody is known to have had it), ns (int64, of the holder's time, with the
        interrupts on top of it), lifetime_share (of the victim's lifetime_max_ns).

    Raises
    ------
    ArgumentError
        For another by.
    MissingEventsError
        Without switches or migrations.

    Notes
    -----
    Source: slices and migrations. What a victim waited for network work in kernel threads is in it,
    under their names. Waits that had not ended are not.
    """
    check_by(by)
    if by == "cpu":
        raise ArgumentError("by='cpu': a CPU waits for nobody; one of comm, tid")
    away = away_of(timeline)
    waits = away[(away["waited_ns"] > 0) & away["cpu"].isin(timeline.summary["cpus"])]
    waits = waits[["cpu", "tid", "comm", "start_ns", "end_ns"]].reset_index(drop=True)
    stays, migrations = rows(timeline, "slices", "migrations")
    waits = moved(waits, migrations).astype({"comm": object})
    names = plain_names(stays["comm"]).where((stays["tid"] != 0).fillna(True), _IDLE)
    codes, found = pd.factorize(names)
    stays = stays[["cpu", "in_ns", "out_ns"]].assign(handover=codes)
    held = Held(stays.rename(columns={"in_ns": "start_ns", "out_ns": "end_ns"}))
    pairs = displaced_in(stays, waits, held)
    pairs["holder_comm"] = pd.Series(found, dtype=object).reindex(pairs["handover"]).to_numpy()
    keys = victim_keys(by)
    known = pairs.groupby([*keys, "holder_comm"])["ns"].sum()
    whole = (waits["end_ns"] - waits["start_ns"]).groupby([waits[key] for key in keys]).sum()
    rest = (whole - known.groupby(keys).sum().reindex(whole.index, fill_value=0)).rename("ns")
    unknown = rest[rest > 0].reset_index().assign(holder_comm=_NOBODY)
    frame = pd.concat([known.reset_index(), unknown], ignore_index=True).astype({"ns": "int64"})
    lived = lived_by(timeline, by)["lifetime_max_ns"].astype("float64")
    index = pd.MultiIndex.from_frame(frame[keys]) if len(keys) > 1 else pd.Index(frame[keys[0]])
    frame["lifetime_share"] = frame["ns"] / lived.reindex(index).to_numpy()
    return frame.sort_values("ns", ascending=False, kind="stable", ignore_index=True)


@waited_for.figures
def _of_the_victim(answer: "Answer[pd.DataFrame]") -> dict[str, Any]:
    # holders: for whom the timeline's victim waited most, with what share of its lifetime.
    timeline, held = answer.timeline, answer.frame
    victim = comm_of(timeline, timeline.victim)
    own = held[(held["comm"] == victim) & (held["lifetime_share"] >= _WORTH_NAMING)]
    own = own.head(0 if "tid" in own else _HOLDERS)
    return {
        "victim": victim,
        "holders": list(zip(own["holder_comm"], own["lifetime_share"], strict=True)),
    }
