"""What each task lost: its time on CPU, what of it was its own, what a monitor would show."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..answers.question import Answer, question
from ..capture.requires import unrecorded
from ..timeline.by import By, victim_keys
from ..timeline.owners import victims_frame
from ..timeline.task import Group, Task, by_of, is_of, no_such_task
from ..timeline.task_groups import named
from ..timeline.timeline import Timeline
from ..units import absent
from .network_cost import INTERRUPTS
from .stolen_sums import FIGURES, PART_COLUMNS, stolen_sums

if TYPE_CHECKING:
    import pandas as pd


@question(
    topic="stolen_time",
    main="victims",
    columns=(
        *("comm", "stolen_share", "stolen_ns", "on_cpu_ns", "task_ns"),
        *("stolen_network_ns", "displaced_ns"),
    ),
)
def stolen(timeline: Timeline, by: By = "comm") -> Answer:
    """Where each victim's time on CPU went.

    - by: What victims are told apart by; "device" is as "comm".

    victims: a row per victim, falling by what it lost. by_softirq, by_device: a row per victim and
    what took time from it. stolen_hardirq_ns, stolen_vector_ns, stolen_nmi_ns, stolen_unrecorded_ns
    and stolen_max_ns of by_softirq (NET_RX with its polls) add up to stolen_max_ns; by_device is
    what can be laid at a device, its hardirqs and polls, across those parts.

    unknown_ns is time in which the victim was current and what ran is unknown. unknown_max_ns adds
    time on CPUs without a known owner, between the victim's slices, that may have been its; by name
    it is all such time where events were lost, since tasks of that name may have run there unseen.
    Upper bounds of several victims do not add up. Where interrupts are not charged and unknown_ns
    is not 0, monitor_ns is an upper bound.

    Source: the timeline's sums; the counters beside the trace.
    """
    import pandas as pd

    lost, keys = stolen_sums(timeline, by), victim_keys(by)
    parts = {}
    for part, column in PART_COLUMNS.items():
        rows = [
            {**dict(zip(keys, victim if by == "tid" else [victim], strict=True)), **row}
            for victim in lost.rows
            for row in lost.taken_from([victim])[part]
        ]
        parts[part] = pd.DataFrame(rows, columns=[*keys, column, "stolen_ns", "stolen_max_ns"])
    return Answer(victims=victims_frame(lost.rows, FIGURES, by), **parts)


class StolenFrom(NamedTuple):
    """What one task lost: its name, its row of stolen(), its rows of by_softirq and by_device."""

    comm: str
    row: dict[str, Any]
    parts: dict[str, list[dict[str, Any]]]


def stolen_from(timeline: Timeline, victim: Task) -> StolenFrom:
    """What one task lost, a tid under all of its names; AbsentError for an unknown task."""
    victim = named(timeline, victim) or victim
    lost = stolen_sums(timeline, by_of(victim))
    rows = {name: row for name, row in lost.rows.items() if is_of(name, victim)}
    if not rows:
        raise no_such_task(timeline, victim)
    # The name that it had longest.
    longest = max(rows, key=lambda name: rows[name]["on_cpu_ns"] or 0)
    whole = lost.together(list(rows))
    comm = longest if by_of(victim) == "comm" else longest[1]
    if isinstance(victim, Group):
        comm = victim.comm
    return StolenFrom(comm, whole, lost.taken_from(rows))


def itself_ends(row: "Mapping[str, Any] | pd.Series[Any]") -> tuple[int, int] | None:
    """What a task ran itself, at least and at most; None where its time on CPU is unknown.

    With what was stolen, its own traffic, scheduled and unknown time it adds up to on_cpu_ns: the
    own time of a kernel thread that does interrupt work is scheduled. row: of stolen().
    """
    if absent(row["on_cpu_ns"]):
        return None
    others = ("stolen_ns", "stolen_or_synchronous_ns", "synchronous_ns", "scheduled_ns")
    most = int(row["on_cpu_ns"]) - sum(int(row[name]) for name in (*others, "unknown_ns"))
    return max(most - int(row["task_ns"] - row["task_min_ns"]), 0), most


def own_ends(row: "Mapping[str, Any] | pd.Series[Any]") -> tuple[int, int]:
    """What interrupts did for a task itself, at least and at most. row: of stolen()."""
    low = int(row["synchronous_ns"])
    return low, low + int(row["stolen_or_synchronous_ns"])


def monitor_ends(
    timeline: Timeline, row: "Mapping[str, Any] | pd.Series[Any]"
) -> tuple[int, int] | None:
    """What a monitor shows of a task at least and at most; None where its time on CPU is unknown.

    Where nobody says how the kernel accounts, from none to all of the interrupts on top of the
    task. Where they are charged to no task, and not all are known, monitor_ns is the upper end.
    row: of stolen().
    """
    if absent(row["on_cpu_ns"]):
        return None
    capture, whole = timeline.capture, int(row["on_cpu_ns"])
    regime = capture.bundle.accounting if capture.bundle else None
    if regime is None:
        return max(whole - int(row["stolen_max_ns"]) - int(row["synchronous_ns"]), 0), whole
    shown = int(row["monitor_ns"])
    if regime.hardirq:
        return shown, shown
    # Other architectures' are lines with handlers.
    arch = capture.info.get("arch")
    is_x86 = arch is None or arch in ("x86_64", "i386", "i686")
    lacking = ("irq_vectors:*",) if is_x86 else ()
    is_most = row["unknown_ns"] or unrecorded(capture, *INTERRUPTS, *lacking)
    return 0 if is_most else shown, shown
