"""Task lifetimes: what native needs to bound them, and the tables that it computes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..arrow import columns
from ..capture.manifest import Victim
from ..capture.requires import unrecorded
from .aggregates import Aggregate
from .reading import bounds_of, once
from .task_events import EXIT, FORK, MIGRATED, NEW, WAKES

if TYPE_CHECKING:
    import pandas as pd

    from .._native import ArrowTable
    from ..capture.capture import Capture
    from .timeline import Timeline


class StaysOf(NamedTuple):
    """Native's aggregate `stays`: slices by prefix of the task's name, by tid, or of all tasks.

    A row per slice: cpu, tid, comm, in_ns, out_ns, wake_ns, wait_ns, prev_state, softirq_ns.
    """

    names_begin: tuple[str, ...] | None = None
    tids: tuple[int, ...] | None = None


class TaskEvents(NamedTuple):
    """Events about tasks.

    table: None if there were none. tid, comm, cpu: the columns with the task, its name and its
    target CPU, None where they do not matter.
    """

    table: "ArrowTable | None"
    tid: str = "tid"
    comm: str | None = None
    cpu: str | None = None


@dataclass(frozen=True, eq=False)
class Facts:
    """What native bounds lifetimes by.

    sums: the table. counted: a wait counts if it ends in this range. held: CPUs to list holders of.
    cpus: the recorded CPUs. born, died, woken: events that were recorded, so that absence means it
    did not happen; native takes the first one that has its fields. moved: events of tasks that come
    to other CPUs. of_bundle: the victim's tid, and its start and end by the bundle. all_cpus: all
    CPUs of the host were recorded. moves_known: all migrations were recorded. has_moves: some were.
    lost: events were lost.
    """

    sums: "ArrowTable"
    window: tuple[int, int]
    counted: tuple[int, int]
    held: list[int]
    cpus: list[int]
    born: list[TaskEvents]
    died: list[TaskEvents]
    woken: list[TaskEvents]
    moved: list[TaskEvents]
    of_bundle: tuple[int, int, int] | None
    all_cpus: bool
    moves_known: bool
    has_moves: bool
    lost: bool


def everywhere(timeline: "Timeline") -> "Timeline":
    """The timeline over all recorded CPUs; task lifetimes need all of them."""
    return timeline if timeline.cpus is None else _of_all_cpus(timeline)


@once
def _of_all_cpus(timeline: "Timeline") -> "Timeline":
    return timeline.capture.timeline(timeline.start_s, timeline.end_s)


def lives_of(timeline: "Timeline") -> "dict[str, ArrowTable]":
    """The tables of task lifetimes, over all recorded CPUs.

    lives: a row per tid and comm that had a CPU in the window. lifetime_max_ns: the window, cut at
    the task's known start and end. lifetime_ns: the same without the ends at which the task may not
    have existed. waited_ns (runnable without a CPU) and asleep_ns, as far as they are known.
    unseen_ns: the part of the rest in which it may have been on a CPU without a known owner.
    twice_ns: the part of on_cpu_ns in which it appears on two CPUs at once, which is in no lifetime
    (a CPU's time before its first event goes to that event's task, even if the task still ran
    elsewhere). tasks: how many tasks had that tid and comm. begun_ns, done_ns: when it certainly
    existed, null for a name that a task had only for a part of a slice.

    twice: tid, comm (as the slice ended), cpu, twice_ns. renamed: slices before which a task had
    another name: cpu, tid, in_ns and comm, the former name.

    waits: a row per tid, comm (as the wait began), cpu (that ended it) and waited_after (as in
    run_queue()): the number of waits that ended in the window, their ns, and waited_ns, the part of
    ns inside the window; least and most. wait_lengths: how often each length occurred, in bins if
    there are many; group is the row of waits.

    holders, on the timeline's CPUs: ns per tid, comm (as it waited) and holder_comm, the task that
    had the CPU it waited for. holder_comm is "(idle)" for the idle task. It is null if the CPU has
    no known owner or is itself unknown: without migration events, once the task ran on another CPU.
    """
    tables: dict[str, ArrowTable] = LIVES(timeline)
    return tables


def lives_columns(timeline: "Timeline", name: str) -> dict[str, list[Any]]:
    """A table of lives_of() as plain columns, without pandas."""
    return columns(lives_of(timeline)[name])


def lives(timeline: "Timeline") -> "pd.DataFrame":
    """The table lives of lives_of(): a row per task and name."""
    # Imports pandas, so not at the top.
    from ..frames import to_frame

    return to_frame(lives_of(timeline)["lives"]).astype({"comm": "str"})


def lived_by(timeline: "Timeline", by: str) -> "pd.DataFrame":
    """lifetime_ns, lifetime_max_ns and twice_ns by victim: the denominators of wall-time shares.

    The lifetime of a CPU is the window. Tasks have no rows without sched_switch.
    """
    import pandas as pd

    names = ["lifetime_ns", "lifetime_max_ns", "twice_ns"]
    if by == "cpu":
        cpus = pd.Index(timeline.summary["cpus"], name="cpu")
        windows = pd.DataFrame(timeline.duration_ns, index=cpus, columns=names).astype("Int64")
        return windows.assign(twice_ns=0)
    keys = ["tid", "comm"] if by == "tid" else ["comm"]
    if timeline.missing["on_cpu"]:
        none = pd.DataFrame(columns=[*keys, *names]).set_index(keys)
        return none.astype("Int64")
    return timeline.lives.groupby(keys)[names].sum().astype("Int64")


@once
def _facts(timeline: "Timeline") -> Facts:
    """What native cuts the lifetimes of a timeline by."""
    whole = everywhere(timeline)
    # A pass that follows waits also gathers the events about tasks.
    whole.read("displaced", for_lives=True)
    capture, summary, lost = whole.capture, whole.summary, whole.recorded not in (None, 1)
    all_cpus = capture.info.get("nr_cpus") == len(capture.info["cpus"])
    born = _recorded(capture, TaskEvents(None, comm="comm"), FORK, NEW)
    died = _recorded(capture, TaskEvents(None), EXIT)
    woken = _recorded(capture, TaskEvents(None), *WAKES)
    coming = () if all_cpus else (*WAKES, MIGRATED)
    moved = _recorded(capture, TaskEvents(None, cpu="cpu"), *coming)
    woken = dict(list(woken.items())[:1])
    counts, tables = capture.info["events"], whole.task_events
    has_moves = not unrecorded(capture, MIGRATED)

    def read(kinds: dict[str, TaskEvents]) -> list[TaskEvents]:
        # An unreadable event is unknown, not absent.
        known = (name for name in kinds if tables[name] is not None or not counts.get(name))
        return [
            kinds[name]._replace(table=tables[name] if counts.get(name) else None) for name in known
        ]

    return Facts(
        sums=whole.table("sums"),
        window=(int(summary["start_ns"]), int(summary["end_ns"])),
        counted=bounds_of(timeline).range,
        held=list(timeline.summary["cpus"]),
        cpus=list(summary["cpus"]),
        born=read(born),
        died=read(died),
        woken=read(woken),
        moved=read(moved),
        of_bundle=_of_bundle(capture),
        all_cpus=all_cpus,
        # Lost events may have been migrations.
        moves_known=not lost and has_moves,
        has_moves=has_moves,
        lost=lost,
    )


LIVES = Aggregate(_facts, on=everywhere)


def _recorded(capture: "Capture", fields: TaskEvents, *events: str) -> dict[str, TaskEvents]:
    return {event: fields for event in events if not unrecorded(capture, event)}


def _of_bundle(capture: "Capture") -> tuple[int, int, int] | None:
    victim = (capture.bundle.victim if capture.bundle else None) or Victim()
    pid, start, end = victim.pid, victim.start_ns, victim.end_ns
    if pid is None or start is None or end is None:
        return None
    # An attached service began earlier and goes on.
    return (pid, start, end) if start < end and victim.attached is None else None
