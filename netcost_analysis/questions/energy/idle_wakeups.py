# How often idle CPUs were woken, by what, and how often for packets: of the trace alone.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...capture.requires import unrecorded
from ...timeline.aggregate import INTERRUPT_CONTEXTS, thief_label
from ...timeline.timeline import Timeline
from ..batches.common import called, records
from ..inputs import rows, windows
from ..question import question
from .metered import packets_of
from .plots import MAX_CPUS, wakeups_by_cpu

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..answer import Answer

# From an interrupt on an idle CPU to its softirqs, or to the task that it woke, the idle task runs:
# nine in ten such stretches last less than 10 µs in the samples, and no new interrupt ends them.
GAP_NS = 20_000
_FOLLOWS = ("task", "softirq", "poll")
WAKERS = ("network interrupt", "IPI", "timer", "other interrupt", "unrecorded")
_TIMER = "local_timer"
_IPIS = ("reschedule", "call_function", "call_function_single")
_KEYS = ("cpu", "waker", "woken_by")
_COUNTS = ("wakeups", "network_wakeups", "task_wakeups")


class IdleWakeups(NamedTuple):
    """Answer of `idle_wakeups`.

    Attributes
    ----------
    idle_wakeups : pandas.DataFrame
        A row per CPU and what woke it, most wake-ups first: cpu, waker, woken_by, wakeups,
        wakeups_share, wakeups_per_s, network_wakeups, task_wakeups, idle_before_ns.
    by_cpu : pandas.DataFrame
        A row per CPU: cpu, idle_share, wakeups, wakeups_per_s, network_wakeups, task_wakeups.
    packets_device : str or None
        The device that most packets were polled of, None without polls.
    packets : int or None
        Those.
    """

    idle_wakeups: pd.DataFrame
    by_cpu: pd.DataFrame
    packets_device: str | None
    packets: int | None


@question(
    needs=("on_cpu", "interrupted"),
    inputs=("segments", "polls"),
    main="idle_wakeups",
    main_columns=("cpu", "woken_by", "wakeups", "wakeups_per_s", "network_wakeups", "task_wakeups"),
)
def idle_wakeups(timeline: Timeline, gap_ns: int = GAP_NS) -> IdleWakeups:
    """How often an idle CPU was woken, by what, and how often packets were the reason.

    Parameters
    ----------
    timeline : Timeline
        The window and the CPUs in question.
    gap_ns : int
        From an interrupt to what it led to the idle task runs no longer than this.

    Returns
    -------
    IdleWakeups
        Wake-ups by CPU and cause, and by CPU.

    Raises
    ------
    MissingEventsError
        Without sched_switch, or any interrupt.

    Notes
    -----
    A wake-up ends a stretch in which a CPU's idle task had it. A stretch between an interrupt and a
    softirq or task, no longer than gap_ns, is of the same wake-up. Stretches before time that
    nobody is known to have had end in none.

    Source: the trace's segments and polls.
    """
    counts, idle_ns = _together(timeline, gap_ns)
    seconds = timeline.duration_ns / 1e9 or float("nan")
    total = int(counts["wakeups"].sum())
    counts["idle_before_ns"] = counts["before_ns"] / counts["wakeups"]
    counts["wakeups_share"] = counts["wakeups"] / (total or float("nan"))
    counts["wakeups_per_s"] = counts["wakeups"] / seconds
    columns = ("wakeups", "wakeups_share", "wakeups_per_s", *_COUNTS[1:], "idle_before_ns")
    order = counts.sort_values("wakeups", ascending=False, kind="stable", ignore_index=True)
    by_cpu = counts.groupby("cpu")[list(_COUNTS)].sum()
    by_cpu = by_cpu.reindex(timeline.summary["cpus"], fill_value=0).rename_axis("cpu")
    by_cpu.insert(0, "idle_share", idle_ns.reindex(by_cpu.index, fill_value=0) / (seconds * 1e9))
    by_cpu.insert(2, "wakeups_per_s", by_cpu["wakeups"] / seconds)
    device, packets = packets_of(timeline)
    return IdleWakeups(order[[*_KEYS, *columns]], by_cpu.reset_index(), device, packets)


def _together(timeline: Timeline, gap_ns: int) -> "tuple[pd.DataFrame, pd.Series[int]]":
    # Of all its windows: the counts by cause with the idle time before, and idle time by CPU.
    found, idle = [], []
    for window in windows(timeline):
        (segments,) = rows(window, "segments")
        of_cpu = segments.loc[segments["context"] == "idle", ["cpu", "start_ns", "end_ns"]]
        idle.append((of_cpu["end_ns"] - of_cpu["start_ns"]).groupby(of_cpu["cpu"]).sum())
        found.append(_wakeups(segments, gap_ns))
    counts = pd.concat(found).groupby(list(_KEYS), sort=False).sum().reset_index()
    return counts, pd.concat(idle).groupby(level=0).sum()


def _wakeups(segments: pd.DataFrame, gap_ns: int) -> pd.DataFrame:
    # A row per CPU and cause: how often, and the time idle before.
    context = segments["context"].astype(object)
    cpu = segments["cpu"]
    length = segments["end_ns"] - segments["start_ns"]
    before = context.shift().where(cpu == cpu.shift())
    after = context.shift(-1).where(cpu == cpu.shift(-1))
    between = before.isin(INTERRUPT_CONTEXTS) & after.isin(_FOLLOWS) & (length <= gap_ns)
    kept = segments[~((context == "idle") & between)]
    context, cpu = context[kept.index], cpu[kept.index]
    idle = context == "idle"
    busy = ~idle & (context != "unknown")
    woken = busy & idle.shift(fill_value=False) & (cpu == cpu.shift())
    # What ran from each wake-up until the CPU was idle again, or nobody knows.
    number = woken.cumsum().where(busy & (cpu == cpu[woken].reindex(cpu.index).ffill()), 0)
    ended = (~busy).cumsum()
    number = number.where(ended == ended[woken].reindex(ended.index).ffill(), 0)
    inside = context.isin(INTERRUPT_CONTEXTS)
    tasks = (context == "task").astype("int64").groupby(number).cumsum()
    network = inside & (kept["is_network"].astype(object) == "yes") & (tasks == 0)
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
    ).groupby(list(_KEYS), sort=False, as_index=False).sum()  # fmt: skip


def _causes(first: pd.DataFrame) -> pd.DataFrame:
    # What each wake-up began with: its kind, and its name.
    names = ["context", "id", "name", "device", "is_network"]
    known = first[names].astype(object).where(first[names].notna(), None)
    keys = list(known.itertuples(index=False, name=None))
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


@idle_wakeups.totals
def _totals(answer: "Answer[IdleWakeups]") -> dict[str, Any]:
    # In all; per packet; of each kind of waker and of its most frequent one the share.
    result = answer.result
    frame, seconds = result.idle_wakeups, answer.timeline.duration_ns / 1e9
    sums = {name: int(frame[name].sum()) for name in _COUNTS}
    kinds = frame.groupby("waker")["wakeups"].sum().sort_values(ascending=False, kind="stable")
    packets = result.packets or 0
    return {
        "all_wakeups": sums["wakeups"],
        "all_wakeups_per_s": sums["wakeups"] / seconds if seconds else None,
        "all_network_wakeups": sums["network_wakeups"],
        "network_wakeups_per_packet": sums["network_wakeups"] / packets if packets else None,
        "taskless_wakeups": sums["wakeups"] - sums["task_wakeups"],
        "by_waker": pd.DataFrame(
            {
                "waker": kinds.index,
                "wakeups": kinds.to_numpy(),
                "wakeups_share": kinds.to_numpy() / (sums["wakeups"] or np.nan),
            }
        ),
    }


@idle_wakeups.figures
def _figures(answer: "Answer[IdleWakeups]") -> dict[str, Any]:
    parts = answer.parts
    names = ("all_wakeups", "all_wakeups_per_s", "all_network_wakeups", "taskless_wakeups")
    return {
        **{name: parts[name] for name in (*names, "network_wakeups_per_packet", "packets")},
        "device": called(parts["packets_device"]),
        "wakers": records(parts["by_waker"]),
        "cpus": records(parts["by_cpu"]),
        "vectors": not unrecorded(answer.timeline.capture, "irq_vectors:local_timer_entry"),
    }


def _height(answer: "Answer[IdleWakeups]") -> float:
    return 1.1 + 0.5 * min(len(answer.result.by_cpu), MAX_CPUS)


@idle_wakeups.plot(title="What woke each idle CPU, wake-ups a second", height=_height)
def _plot(ax: "Axes", answer: "Answer[IdleWakeups]") -> None:
    wakeups_by_cpu(ax, answer.result.idle_wakeups, answer.result.by_cpu)
