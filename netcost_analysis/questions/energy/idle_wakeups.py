# How often idle CPUs were woken, by what, and how often for packets: of the trace alone.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...answers.question import question
from ...capture.requires import unrecorded
from ...timeline.timeline import Timeline
from ..batches.common import called, records
from ..batches.poll_sizes import COUNTED
from .metered import packets_of
from .plots import MAX_CPUS, wakeups_by_cpu
from .woken import COUNTS, GAP_NS, KEYS, WOKEN, woken

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer


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
    inputs=(COUNTED, WOKEN),
    main="idle_wakeups",
    columns=("cpu", "woken_by", "wakeups", "wakeups_per_s", "network_wakeups", "task_wakeups"),
)
def idle_wakeups(timeline: Timeline, gap_ns: int = GAP_NS) -> IdleWakeups:
    """How often an idle CPU was woken, by what, and how often packets were the reason.

    - gap_ns: From an interrupt to what it led to the idle task runs no longer than this.

    Wake-ups by CPU and cause, and by CPU.

    A wake-up ends a stretch in which a CPU's idle task had it. A stretch between an interrupt and a
    softirq or task, no longer than gap_ns, is of the same wake-up. Stretches before time that
    nobody is known to have had end in none.

    Source: the trace's segments and polls.
    """
    found = woken(timeline, gap_ns)
    counts = found.counts.copy()
    seconds = timeline.duration_ns / 1e9 or float("nan")
    total = int(counts["wakeups"].sum())
    counts["idle_before_ns"] = counts["before_ns"] / counts["wakeups"]
    counts["wakeups_share"] = counts["wakeups"] / (total or float("nan"))
    counts["wakeups_per_s"] = counts["wakeups"] / seconds
    columns = ("wakeups", "wakeups_share", "wakeups_per_s", *COUNTS[1:], "idle_before_ns")
    order = counts.sort_values("wakeups", ascending=False, kind="stable", ignore_index=True)
    by_cpu = counts.groupby("cpu")[list(COUNTS)].sum()
    by_cpu = by_cpu.reindex(timeline.summary["cpus"], fill_value=0).rename_axis("cpu")
    idle_ns = found.idle_ns.reindex(by_cpu.index, fill_value=0)
    by_cpu.insert(0, "idle_share", idle_ns / (seconds * 1e9))
    by_cpu.insert(2, "wakeups_per_s", by_cpu["wakeups"] / seconds)
    device, packets = packets_of(timeline)
    return IdleWakeups(order[[*KEYS, *columns]], by_cpu.reset_index(), device, packets)


@idle_wakeups.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # In all; per packet; of each kind of waker and of its most frequent one the share.
    result = answer.result
    frame, seconds = result.idle_wakeups, answer.timeline.duration_ns / 1e9
    sums = {name: int(frame[name].sum()) for name in COUNTS}
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
def _figures(answer: "Answer") -> dict[str, Any]:
    parts = answer.parts
    names = ("all_wakeups", "all_wakeups_per_s", "all_network_wakeups", "taskless_wakeups")
    return {
        **{name: parts[name] for name in (*names, "network_wakeups_per_packet", "packets")},
        "device": called(parts["packets_device"]),
        "wakers": records(parts["by_waker"]),
        "cpus": records(parts["by_cpu"]),
        "vectors": not unrecorded(answer.timeline.capture, "irq_vectors:local_timer_entry"),
    }


def _height(answer: "Answer") -> float:
    return 1.1 + 0.5 * min(len(answer.result.by_cpu), MAX_CPUS)


@idle_wakeups.plot(title="What woke each idle CPU, wake-ups a second", height=_height)
def _plot(ax: "Axes", answer: "Answer") -> None:
    wakeups_by_cpu(ax, answer.result.idle_wakeups, answer.result.by_cpu)
