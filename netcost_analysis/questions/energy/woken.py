# What woke idle CPUs, of segments in batches: of each CPU what may belong to a wake-up that goes on
# is carried.
#
#   | idle | vector | idle, short | softirq | task | ... | idle |      a wake-up lasts until the CPU
#          |<-------------- one wake-up -------------->|             is idle again
#
# All that is behind the last segment that ends one for certain is carried; of a long one what
# decides about it: its first segment, the first of the network's, the first task, the last two.

from typing import Any

import pandas as pd

from ...timeline.aggregate import INTERRUPT_CONTEXTS, thief_label
from ..inputs import added

KEYS = ("cpu", "waker", "woken_by")
COUNTS = ("wakeups", "network_wakeups", "task_wakeups")
_FOLLOWS = ("task", "softirq", "poll")
_TIMER = "local_timer"
_IPIS = ("reschedule", "call_function", "call_function_single")
_NAMES = ["context", "id", "name", "device", "is_network"]
_COLUMNS = ["cpu", "start_ns", "end_ns", *_NAMES]


class Woken:
    # gap_ns: from an interrupt to what it led to the idle task runs no longer than this. idle_ns:
    # by CPU.
    def __init__(self, gap_ns: int) -> None:
        self._gap_ns = gap_ns
        self._rows: pd.DataFrame | None = None
        self._counts: pd.DataFrame | None = None
        self.idle_ns: pd.DataFrame | None = None

    def add(self, segments: pd.DataFrame) -> None:
        # The next ones, in order on each CPU.
        new = segments[_COLUMNS]
        new = new.assign(**{name: _plain(new[name]) for name in _NAMES})
        idle = new[new["context"] == "idle"]
        ns = (idle["end_ns"] - idle["start_ns"]).groupby(idle["cpu"]).sum().to_frame("idle_ns")
        self.idle_ns = added(self.idle_ns, ns)
        rows = _in_order(pd.concat([self._rows, new]))
        between = _between(rows, self._gap_ns)
        # The last one of a CPU may be found to lie between an interrupt and what it led to.
        known = rows["cpu"] == rows["cpu"].shift(-1)
        ends = rows["context"].isin(["idle", "unknown"]) & ~between & known
        last = ends[::-1].groupby(rows["cpu"][::-1]).cumsum()[::-1]
        # Of each CPU from the last end on; all of it where there is none.
        goes_on = (last == 0) | ((last == 1) & ends)
        complete = ~goes_on | ends
        self._counts = _summed(self._counts, wakeups(rows[complete], self._gap_ns))
        self._rows = _decisive(rows[goes_on & ~(between & known)])

    def counts(self) -> pd.DataFrame:
        # By KEYS: COUNTS, and before_ns, the time idle before; with what is carried.
        assert self._rows is not None
        return _summed(self._counts, wakeups(self._rows, self._gap_ns)).reset_index()


def _summed(sums: pd.DataFrame | None, more: pd.DataFrame) -> pd.DataFrame:
    return added(sums, more.groupby(list(KEYS)).sum())


def _plain(values: "pd.Series[Any]") -> "pd.Series[Any]":
    return values.astype(object).where(values.notna(), None)


def _in_order(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.sort_values(["cpu", "start_ns"], kind="stable", ignore_index=True)


def _between(segments: pd.DataFrame, gap_ns: int) -> "pd.Series[bool]":
    # Idle stretches between an interrupt and what it led to.
    context, cpu = segments["context"], segments["cpu"]
    length = segments["end_ns"] - segments["start_ns"]
    before = context.shift().where(cpu == cpu.shift())
    after = context.shift(-1).where(cpu == cpu.shift(-1))
    led = before.isin(INTERRUPT_CONTEXTS) & after.isin(_FOLLOWS) & (length <= gap_ns)
    return (context == "idle") & led


def _decisive(rows: pd.DataFrame) -> pd.DataFrame:
    # Of what goes on, by CPU: the first two segments, the first of the network's and the first
    # task, and the last two. What lies between them changes no wake-up.
    cpu = rows["cpu"]
    place = rows.groupby("cpu").cumcount()
    left = rows.groupby("cpu").cumcount(ascending=False)
    kept = (place < 2) | (left < 2)
    inside = rows["context"].isin(INTERRUPT_CONTEXTS) & (rows["is_network"] == "yes")
    for what in (inside, rows["context"] == "task"):
        kept |= what & (what.groupby(cpu).cumsum() == 1)
    return rows[kept]


def wakeups(segments: pd.DataFrame, gap_ns: int) -> pd.DataFrame:
    # A row per wake-up: KEYS, COUNTS (0 or 1), and before_ns, the time idle before. segments: in
    # order, with plain names.
    length = segments["end_ns"] - segments["start_ns"]
    kept = segments[~_between(segments, gap_ns)]
    context, cpu = kept["context"], kept["cpu"]
    idle = context == "idle"
    busy = ~idle & (context != "unknown")
    woken = busy & idle.shift(fill_value=False) & (cpu == cpu.shift())
    # What ran from each wake-up until the CPU was idle again, or nobody knows.
    number = woken.cumsum().where(busy & (cpu == cpu[woken].reindex(cpu.index).ffill()), 0)
    ended = (~busy).cumsum()
    number = number.where(ended == ended[woken].reindex(ended.index).ffill(), 0)
    inside = context.isin(INTERRUPT_CONTEXTS)
    tasks = (context == "task").astype("int64").groupby(number).cumsum()
    network = inside & (kept["is_network"] == "yes") & (tasks == 0)
    marks = pd.DataFrame({"network": network, "task": context == "task"}).groupby(number).any()
    first = kept[woken]
    marks = marks.reindex(number[woken])
    causes = _causes(first)
    return pd.DataFrame(
        {
            "cpu": first["cpu"].to_numpy(),
            "waker": causes["waker"].to_numpy(),
            "woken_by": causes["woken_by"].to_numpy(),
            "wakeups": 1,
            "network_wakeups": marks["network"].to_numpy("int64"),
            "task_wakeups": marks["task"].to_numpy("int64"),
            "before_ns": length[kept.index].shift()[woken].to_numpy("int64"),
        }
    )


def _causes(first: pd.DataFrame) -> pd.DataFrame:
    # What each wake-up began with: its kind, and its name.
    keys = list(first[_NAMES].itertuples(index=False, name=None))
    of = {key: _cause(*key) for key in dict.fromkeys(keys)}
    return pd.DataFrame([of[key] for key in keys], columns=["waker", "woken_by"], dtype=object)


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
