# When each task was there, as frames: what questions about waits and shares of a life read.

from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from ...frames import to_frame
from ..inputs import once

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline


def away_of(timeline: "Timeline") -> pd.DataFrame:
    """What each task did before each of its stays: questions/lives.py has the columns."""
    return to_frame(timeline.table("away")).astype({"comm": object, "stay_comm": object})


class Names:
    """Under which name each stay's wait began.

    away: cpu, tid, in_ns, comm and stay_comm (categories) of lives_of()'s table.
    """

    def __init__(self, away: pd.DataFrame) -> None:
        # Hardly any task is called otherwise as it waits than as it ran then.
        before, own = (
            away["comm"].cat,
            away["stay_comm"].cat.set_categories(away["comm"].cat.categories),
        )
        renamed = (before.codes >= 0) & (before.codes != own.cat.codes)
        # Of those cpu, tid, in_ns and the name as it waited.
        self.renamed = away.loc[renamed.to_numpy(), ["cpu", "tid", "in_ns", "comm"]]
        keys = pd.MultiIndex.from_frame(self.renamed[["cpu", "tid", "in_ns"]].astype("int64"))
        self._of_stay = pd.Series(self.renamed["comm"].astype(object).to_numpy(), index=keys)

    def then(self, waits: pd.DataFrame, at: str = "in_ns") -> "pd.Series[str]":
        """The name of each wait's task as it began; its own comm where that is not known.

        waits: cpu, tid, comm and, as at, when the stay began that ended it.
        """
        few = waits[waits["tid"].isin(self._of_stay.index.unique("tid")).to_numpy(dtype=bool)]
        keys = pd.MultiIndex.from_frame(few[["cpu", "tid", at]].astype("int64"))
        known = pd.Series(self._of_stay.reindex(keys).to_numpy(), index=few.index)
        names = waits["comm"].copy()
        names.update(known.dropna())
        return names


@once
def names_of(timeline: "Timeline") -> Names:
    """Those of a timeline's waits."""
    away = pa.table(timeline.table("away"))
    return Names(to_frame(away.select(["cpu", "tid", "in_ns", "comm", "stay_comm"])))


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
        index = (
            pd.MultiIndex.from_arrays([[]] * 2, names=keys)
            if by == "tid"
            else pd.Index([], name="comm")
        )
        return pd.DataFrame(columns=names, index=index, dtype="Int64")
    return timeline.lives.groupby(keys)[names].sum().astype("Int64")


def twice_of(timeline: "Timeline") -> pd.DataFrame:
    """What each stay is shown of its task on two CPUs at once: tid, comm, cpu, twice_ns (int64)."""
    stays = away_of(timeline)[["tid", "stay_comm", "cpu", "twice_ns"]]
    return stays.rename(columns={"stay_comm": "comm"})
