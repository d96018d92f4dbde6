# How often idle CPUs were woken, by what, and how often for packets: of the trace alone.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...capture.requires import unrecorded
from ...frames import to_frame
from ...timeline.aggregates import Aggregate
from ...timeline.owners import thief_label
from ...timeline.timeline import Timeline
from ..batches.poll_sizes import COUNTED, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KEYS = ["cpu", "waker", "woken_by"]
_COUNTS = ["wakeups", "network_wakeups", "task_wakeups"]
# Between an interrupt on an idle CPU and its softirqs, or the task that it woke, it is idle again.
# Nine in ten such stretches last less than 10 µs in the samples, and no new interrupt ends them.
_GAP_NS = 20_000
_TIMER = "local_timer"
_IPIS = ("reschedule", "call_function", "call_function_single")
# A picture has so many CPUs at most.
_MOST_CPUS = 24


class Wakeups(NamedTuple):
    """Native's aggregate: from an interrupt to what it led to the idle task runs no longer."""

    gap_ns: int


_WOKEN = Aggregate(lambda timeline: Wakeups(_GAP_NS))


@question(
    needs=("on_cpu", "interrupted"),
    inputs=(COUNTED, _WOKEN),
    main="idle_wakeups",
    columns=("cpu", "woken_by", "wakeups", "wakeups_per_s", "network_wakeups", "task_wakeups"),
)
def idle_wakeups(timeline: Timeline, gap_ns: int = _GAP_NS) -> Answer:
    """How often an idle CPU was woken, by what, and how often packets were the reason.

    A row per CPU and cause, most wake-ups first; `by_cpu`, `by_waker`: sums of these. A wake-up
    ends a stretch in which a CPU's idle task ran. An idle stretch between an interrupt and a
    softirq or task, no longer than gap_ns, belongs to the same wake-up. A stretch before time with
    no known owner ends in no wake-up. Source: the trace's segments and polls.
    """
    woken = _WOKEN(timeline, Wakeups(gap_ns))
    counts = _by_cause(to_frame(woken["wakeups"]))
    seconds = timeline.duration_ns / 1e9 or float("nan")
    total = counts[_COUNTS].sum()
    all_wakeups = int(total["wakeups"])
    counts["idle_before_ns"] = counts["before_ns"] / counts["wakeups"]
    counts["wakeups_share"] = counts["wakeups"] / (all_wakeups or float("nan"))
    counts["wakeups_per_s"] = counts["wakeups"] / seconds
    columns = ["wakeups", "wakeups_share", "wakeups_per_s", *_COUNTS[1:], "idle_before_ns"]
    frame = counts.sort_values("wakeups", ascending=False, kind="stable", ignore_index=True)

    by_cpu = counts.groupby("cpu")[_COUNTS].sum()
    by_cpu = by_cpu.reindex(timeline.summary["cpus"], fill_value=0).rename_axis("cpu")
    idle_ns = to_frame(woken["idle"]).set_index("cpu")["idle_ns"]
    idle_ns = idle_ns.reindex(by_cpu.index, fill_value=0)
    by_cpu.insert(0, "idle_share", idle_ns / (seconds * 1e9))
    by_cpu.insert(2, "wakeups_per_s", by_cpu["wakeups"] / seconds)

    by_waker = frame.groupby("waker")[["wakeups"]].sum()
    by_waker = by_waker.sort_values("wakeups", ascending=False, kind="stable").reset_index()
    by_waker["wakeups_share"] = by_waker["wakeups"] / (all_wakeups or float("nan"))

    device, packets = packets_of(timeline)
    network_wakeups = int(total["network_wakeups"])
    return Answer(
        idle_wakeups=frame[[*_KEYS, *columns]],
        by_cpu=by_cpu.reset_index(),
        packets_device=device,
        packets=packets,
        all_wakeups=all_wakeups,
        all_wakeups_per_s=all_wakeups / seconds if timeline.duration_ns else None,
        all_network_wakeups=network_wakeups,
        network_wakeups_per_packet=network_wakeups / packets if packets else None,
        taskless_wakeups=all_wakeups - int(total["task_wakeups"]),
        by_waker=by_waker,
        vectors_recorded=not unrecorded(timeline.capture, "irq_vectors:local_timer_entry"),
    )


def _by_cause(rows: pd.DataFrame) -> pd.DataFrame:
    # Native's counts under the names of wakers: by _KEYS _COUNTS, and before_ns, the time idle
    # before.
    names = rows[["context", "id", "name", "device", "is_network"]].astype(object)
    names = names.where(names.notna(), None)
    causes = [_cause(*cause) for cause in names.itertuples(index=False, name=None)]
    rows[_KEYS[1:]] = pd.DataFrame(causes, columns=_KEYS[1:], dtype=object)
    return rows.groupby(_KEYS)[[*_COUNTS, "before_ns"]].sum().reset_index()


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


def packets_of(timeline: Timeline) -> tuple[str | None, int | None]:
    # A packet that passes several devices is one: those of the device with most, and which.
    if unrecorded(timeline.capture, "napi:napi_poll"):
        return None, None
    packets = counted(timeline)["packets"].groupby(level="device").sum()
    return (str(packets.idxmax()), int(packets.max())) if len(packets) else (None, 0)


@idle_wakeups.plot(
    title="What woke each idle CPU, wake-ups a second",
    height=lambda answer: 1.1 + 0.5 * min(len(answer["by_cpu"]), _MOST_CPUS),
)
def _plot(ax: "Axes", answer: Answer) -> None:
    from .plots import wakeups_by_cpu

    wakeups_by_cpu(ax, answer.frame, answer["by_cpu"], _MOST_CPUS)
