# When tasks were on a CPU and waited for one, by task.

import pandas as pd

from ...timeline.timeline import Timeline
from ..folds import fold
from ..inputs import Window, window_of

_KEYS = ["tid", "comm"]


def stays_by_task(timeline: Timeline) -> pd.DataFrame:
    # By tid and comm: begun_ns (from when on it had or wanted a CPU), out_ns (when it last had
    # one), waited_ns (runnable without one, within the window; a wait that began before it counts
    # from its start). Of the idle task and of nobody too.
    return _summed(timeline, window=window_of(timeline))


@fold("slices")
def _summed(sums: pd.DataFrame | None, slices: pd.DataFrame, window: Window) -> pd.DataFrame:
    known = slices["wait_ns"].notna().to_numpy()
    begun = slices["in_ns"].to_numpy("int64") - slices["wait_ns"].fillna(0).to_numpy("int64")
    within = (window.start_ns, window.end_ns)
    waited = slices["in_ns"].to_numpy("int64").clip(*within) - begun.clip(*within)
    part = pd.DataFrame(
        {
            "tid": slices["tid"].astype("Int64"),
            "comm": slices["comm"].astype(object),
            "begun_ns": begun,
            "out_ns": slices["out_ns"].to_numpy("int64"),
            "waited_ns": waited * known,
        }
    )
    if sums is not None:
        part = pd.concat([sums.reset_index(), part])
    how = {"begun_ns": "min", "out_ns": "max", "waited_ns": "sum"}
    return part.groupby(_KEYS, dropna=False).agg(how)
