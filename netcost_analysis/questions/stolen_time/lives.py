# When each task was there, as frames: what questions about waits and shares of a life read.

from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline


def lived_by(timeline: "Timeline", by: str) -> pd.DataFrame:
    """lifetime_ns, lifetime_max_ns (Int64) by victim, what shares of wall time are of; twice_ns.

    by: "comm", "tid" or "cpu", of which it is the window. No rows of tasks without sched_switch.
    """
    names = ["lifetime_ns", "lifetime_max_ns", "twice_ns"]
    if by == "cpu":
        cpus = pd.Index(timeline.summary["cpus"], name="cpu")
        whole = pd.DataFrame(timeline.duration_ns, index=cpus, columns=names).astype("Int64")
        return whole.assign(twice_ns=0)
    keys = ["tid", "comm"] if by == "tid" else ["comm"]
    if timeline.missing["on_cpu"]:
        none = pd.DataFrame(columns=[*keys, *names]).set_index(keys)
        return none.astype("Int64")
    return timeline.lives.groupby(keys)[names].sum().astype("Int64")
