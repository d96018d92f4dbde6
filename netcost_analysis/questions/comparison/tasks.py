# The tasks of a run: client, server and victim, what the scheduler did to each task per block, and
# who had the CPU time that a victim did not have.


import numpy as np
import pandas as pd

from ...capture.requires import unmet, unrecorded
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...errors import AbsentError, no_task
from ...masking.names import is_kernel_thread
from ...stats.resampling import Floats
from ...timeline.aggregates import groups
from ...timeline.facts import tracepoint_groups
from ...timeline.group import KNOWN, Grouping, Range
from ...timeline.owners import INTERRUPT_CONTEXTS, of_tasks, plain_names
from ...timeline.reading import bounds_of, once
from ...timeline.task import Task, by_of, is_of, rows_of
from ...timeline.task_groups import attached, named, started
from ...timeline.timeline import Timeline
from ...timeline.traffic import OF_EXCERPT, owner_events
from ..lifetimes import holders
from ..migration.migrations import incomparable, migrations
from ..processes.scheduling import LEFT, OF_TASKS, kinds_of
from ..processes.traffic import LOOK_ON, NEEDS, endpoints, traffic
from .run_blocks import Blocks, run_blocks

# In whose context CPU time was spent.
CONTEXTS = ("client", "server", "victim", "kernel thread", "other", "idle", "unknown")
_KEYS = ["block", "tid", "comm", "what"]
# TASK_COMM_LEN without its NUL.
_COMM_LENGTH = 15


@once
def victim_of(run: Run, given: Task | None = None) -> Task | None:
    # The task given, else the bundle's victim.
    capture = run.captures[0]
    if given:
        return named(capture.timeline(), given)
    comm = capture.bundle.victim_comm if capture.bundle else None
    if comm is None or attached(capture):
        return attached(capture)
    own = of_tasks(run_blocks(run).sums).groupby(["tid", "comm"], observed=True)["ns"].sum()
    keys = own.reset_index()[["tid", "comm", "ns"]].itertuples(index=False)
    return started(capture, comm, {(int(tid), str(name)): ns for tid, name, ns in keys})


def programs(run: Run) -> set[str]:
    # The programs in the commands of load and victim, cut as the kernel cuts a task's name.
    bundle = run.bundle
    parts = (bundle.manifest.load, bundle.manifest.victim) if bundle else ()
    words = " ".join((part.command or "") for part in parts if part).split()
    return {word.strip("'\";&|()").rpartition("/")[2][:_COMM_LENGTH] for word in words} - {""}


def task_of(run: Run, end: str, comparison: Comparison) -> Task | None:
    # end: "client" or "server".
    given: Task | None = getattr(comparison, end)
    return _processes(run)[0].get(end) if given is None else given


def client_of(run: Run) -> int | None:
    # From the recording alone; None where no pair of tasks exchanged packets.
    return _processes(run)[0].get("client")


def senders_and_receivers(run: Run) -> tuple[int, int] | None:
    # How many tasks of this host sent and received the traffic; None where packets name none. Of a
    # large capture an excerpt counts.
    timeline = run.timelines()[0]
    if unmet(timeline.capture, tracepoint_groups(NEEDS)) or not owner_events(timeline.capture):
        return None
    units = traffic(timeline, OF_EXCERPT).by_end.reset_index()
    units = units[units["tid"].gt(0).fillna(False).to_numpy(dtype=bool)]
    by_task = units.groupby(["side", "tid"])["units"].sum()
    carry = by_task[by_task >= LOOK_ON * by_task.groupby(level=0).transform("sum")]
    counts = carry.groupby(level=0).size()
    return (int(counts.get("sender", 0)), int(counts.get("receiver", 0))) if len(counts) else None


def scheduled_of(run: Run) -> pd.DataFrame | None:
    # scheduled() of all files; None where any file has none.
    return _processes(run)[1]


# Not part of run_blocks(): sweeps do not need it.
@once
def _processes(run: Run) -> tuple[dict[str, int], pd.DataFrame | None]:
    timelines, files = run.timelines(), run_blocks(run).files
    pair = endpoints(timelines[0])
    ends = dict(zip(("client", "server"), pair, strict=True)) if pair else {}
    parts = [scheduled(timeline, blocks) for timeline, blocks in zip(timelines, files, strict=True)]
    known = [part for part in parts if part is not None]
    return ends, pd.concat(known, ignore_index=True) if len(known) == len(parts) else None


@once
def of_task(run: Run, task: Task | None, what: str, column: str) -> Floats:
    # column: count or ns of what the scheduler did to a task, per block.
    moves = scheduled_of(run)
    assert moves is not None
    rows = rows_of(moves[moves["what"] == what], task)
    return np.bincount(rows["block"], rows[column], len(run_blocks(run).seconds)).astype("float64")


def require_tasks(comparison: Comparison) -> None:
    # Raises AbsentError for a named task that no recording has: its figures would be silently
    # missing, or those of another task.
    for task in (comparison.victim, comparison.client, comparison.server):
        # Recordings are read one by one, up to the first that has the task.
        if task is not None and not any(
            len(rows_of(run_blocks(run).sums, victim_of(run, task))) for run in comparison.recorded
        ):
            comms = [run_blocks(run).sums["comm"].dropna() for run in comparison.recorded]
            raise AbsentError(no_task(task, [str(name) for name in pd.concat(comms).unique()]))


@once
def process_contexts(run: Run, comparison: Comparison) -> "pd.Series[str]":
    # One of CONTEXTS for each row of a run's sums.
    sums = run_blocks(run).sums
    comm = sums["comm"].astype("string").fillna("")
    # Recordings have no flag for kernel threads.
    is_thread = comm.map({name: is_kernel_thread(name) for name in comm.unique()}).astype(bool)
    contexts = pd.Series("other", index=sums.index).mask(is_thread, "kernel thread")
    tasks = {
        "victim": victim_of(run, comparison.victim),
        "client": task_of(run, "client", comparison),
        "server": task_of(run, "server", comparison),
    }
    for name, task in tasks.items():
        if task is not None:
            contexts[rows_of(sums, task).index] = name
    contexts = contexts.mask(sums["tid"].eq(0).fillna(False).astype(bool), "idle")
    return contexts.mask(sums["context"] == "unknown", "unknown")


def scheduled(timeline: Timeline, blocks: Blocks) -> pd.DataFrame | None:
    # count and ns by block, tid, comm and what: "voluntary", "involuntary", "undecided" (switches
    # out, as context_switches() has them), "wake-up", "runnable" (waits for a CPU, as run_queue()
    # has them), "asleep" (stretches between a task's slices in which it did not wait), "migration"
    # (ns until the task ran). None where nobody knows when tasks waited and slept.
    if unrecorded(timeline.capture, "sched:sched_switch") or timeline.missing["clocks"]:
        return None
    window = bounds_of(timeline)

    def slices(at: str, by: str | None, known: str, ns: str | None) -> Grouping:
        where: dict[str, Range] = {"tid": OF_TASKS, known: KNOWN, at: window.range}
        keys = ("tid", "comm", *([by] if by else []))
        block, sums = (at, blocks.width_ns), (ns,) if ns else ()
        return Grouping("slices", keys, block, sums=sums, where=tuple(where.items()))

    switches, waits, asleep, left = groups(
        timeline,
        slices("out_ns", "prev_state", "prev_state", None),
        slices("in_ns", "is_woken", "wait_ns", "waited_ns"),
        slices("in_ns", None, "asleep_ns", "asleep_ns"),
        LEFT.of(timeline),
    )
    states = switches.frame["prev_state"].astype("int64")
    woken = waits.frame["is_woken"].map({True: "wake-up", False: "runnable"})
    parts = [
        _counted(switches.frame, blocks, kinds_of(states, left), 0),
        _counted(waits.frame, blocks, woken, waits.frame["waited_ns"]),
        _counted(asleep.frame, blocks, "asleep", asleep.frame["asleep_ns"]),
    ]
    if not unrecorded(timeline.capture, "sched:sched_migrate_task"):
        moved = migrations(timeline).frame
        if incomparable(timeline, moved):
            return None
        moved = moved[window.has(moved["time_ns"]).fillna(False).to_numpy(dtype=bool)]
        moved = moved.assign(slices=1, block=moved["time_ns"].astype("int64") // blocks.width_ns)
        until_run_ns = moved["until_run_ns"].astype("Int64").fillna(0).astype("int64")
        parts.append(_counted(moved, blocks, "migration", until_run_ns))
    every = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    return every.groupby(_KEYS, dropna=False)[["count", "ns"]].sum().reset_index()


def _counted(
    rows: pd.DataFrame, blocks: Blocks, what: "pd.Series[str] | str", ns: "pd.Series[int] | int"
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "block": blocks.placed(rows["block"]),
            "tid": rows["tid"].astype("Int64"),
            "comm": plain_names(rows["comm"]),
            "what": what,
            "count": rows["slices"],
            "ns": ns,
        }
    )


NEIGHBOURS = "neighbours"
TAKERS = (
    *("victim", "network interrupts", "other interrupts", "network threads", "load"),
    *(NEIGHBOURS, "slept"),
)
_THREADS = ("ksoftirqd/", "napi/")
_COLUMNS = ("taker", "base_share", "new_share", "run_most_share", "most_run")


def victim_losses(comparison: Comparison) -> pd.DataFrame:
    # A row per taker; none where a run has no victim, or nobody knows for whom it waited.
    taken = [(run.name, _taken(run, comparison.victim)) for run in comparison.recorded]
    if not (comparison.base.recorded and comparison.new.recorded and all(ns for _, ns in taken)):
        return pd.DataFrame(columns=[*_COLUMNS])
    rows = pd.DataFrame([ns for _, ns in taken], index=[name for name, _ in taken])
    sides = rows[: len(comparison.base.recorded)], rows[len(comparison.base.recorded) :]
    base, new = (side.sum() / side.to_numpy().sum() for side in sides)
    each = rows.div(rows.sum(axis=1), axis=0)
    columns = (rows.columns, base, new, each.max(), each.idxmax())
    return pd.DataFrame(dict(zip(_COLUMNS, columns, strict=True))).reset_index(drop=True)


@once
def _taken(run: Run, given: Task | None) -> dict[str, float] | None:
    # ns by taker; together the time that passed. None where they are not known.
    victim = victim_of(run, given)
    recording = run_blocks(run)
    if victim is None or recording.switches is None:
        return None
    mine = rows_of(recording.sums, victim)
    inside = mine["context"].isin(INTERRUPT_CONTEXTS)
    network = (mine["is_network"].astype(object) == "yes") & inside
    found = dict.fromkeys(TAKERS, 0.0)
    found["victim"] = float(mine.loc[mine["context"] == "task", "ns"].sum())
    found["network interrupts"] = float(mine.loc[network, "ns"].sum())
    found["other interrupts"] = float(mine.loc[inside & ~network, "ns"].sum())
    for timeline in run.timelines():
        held, names = holders(timeline, "tid"), ("tid", "comm", "holder_comm", "ns")
        for tid, comm, holder, ns in zip(*(held[name] for name in names), strict=True):
            if is_of(comm if by_of(victim) == "comm" else (tid, comm), victim):
                found[_taker(run, holder)] += ns
    found["slept"] = max(float(recording.seconds.sum() * 1e9) - sum(found.values()), 0.0)
    return found if found["victim"] else None


def _taker(run: Run, holder: str) -> str:
    if holder.startswith(_THREADS):
        return "network threads"
    if holder in programs(run):
        return "load"
    # While a CPU was being woken or switched nobody took it.
    return "slept" if holder in ("(idle)", "(unknown)") else NEIGHBOURS
