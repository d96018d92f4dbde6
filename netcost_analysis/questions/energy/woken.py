# What woke idle CPUs: native's counts by what a wake-up began with, under the names of wakers.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...frames import to_frame
from ...timeline.aggregates import Aggregate
from ...timeline.owners import thief_label
from ...timeline.reading import once

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline

KEYS = ("cpu", "waker", "woken_by")
COUNTS = ("wakeups", "network_wakeups", "task_wakeups")
# From an interrupt on an idle CPU to its softirqs, or to the task that it woke, the idle task runs:
# nine in ten such stretches last less than 10 µs in the samples, and no new interrupt ends them.
GAP_NS = 20_000
_TIMER = "local_timer"
_IPIS = ("reschedule", "call_function", "call_function_single")
_NAMES = ["context", "id", "name", "device", "is_network"]


class Wakeups(NamedTuple):
    """Native's aggregate: from an interrupt to what it led to the idle task runs no longer."""

    gap_ns: int


class Woken(NamedTuple):
    # counts, by KEYS: COUNTS, and before_ns, the time idle before; idle_ns: by CPU.
    counts: pd.DataFrame
    idle_ns: "pd.Series[int]"


WOKEN = Aggregate(lambda timeline: Wakeups(GAP_NS))


@once
def woken(timeline: "Timeline", gap_ns: int) -> Woken:
    found = WOKEN(timeline, Wakeups(gap_ns))
    rows = to_frame(found["wakeups"])
    names = rows[_NAMES].astype(object)
    names = names.where(names.notna(), None)
    causes = [_cause(*one) for one in names.itertuples(index=False, name=None)]
    rows[["waker", "woken_by"]] = pd.DataFrame(causes, columns=["waker", "woken_by"], dtype=object)
    counts = rows.groupby(list(KEYS))[[*COUNTS, "before_ns"]].sum().reset_index()
    return Woken(counts, to_frame(found["idle"]).set_index("cpu")["idle_ns"])


def _cause(context: str, id_: Any, name: Any, device: Any, is_network: Any) -> tuple[str, str]:
    if context == "task":
        return "unrecorded", "a task, and no interrupt seen"
    label = thief_label(context, id_, name, device)
    if context in ("softirq", "poll"):
        return "unrecorded", f"{label}, and no interrupt seen"
    if context == "vector" and (name == _TIMER or name in _IPIS):
        return "timer" if name == _TIMER else "IPI", label
    is_line = context == "hardirq" and is_network == "yes"
    return "network interrupt" if is_line else "other interrupt", label
