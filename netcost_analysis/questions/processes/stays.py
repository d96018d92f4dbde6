# When tasks were on a CPU and waited for one, by task.

import pandas as pd

from ...timeline.aggregates import Grouped
from ...timeline.timeline import Timeline

STAYS = Grouped("slices", by=("tid", "comm"), sums=("waited_ns",), ends=("begun_ns", "out_ns"))


def stays_by_task(timeline: Timeline) -> pd.DataFrame:
    # tid, comm, begun_ns (from when on it had or wanted a CPU), out_ns (when it last had one),
    # waited_ns (runnable without one, within the window; a wait that began before it counts from
    # its start). Of the idle task and of nobody too.
    found = STAYS(timeline).frame
    return found.rename(columns={"begun_ns_least": "begun_ns", "out_ns_most": "out_ns"})
