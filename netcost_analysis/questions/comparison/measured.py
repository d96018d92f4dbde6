# What the recording of one run says, block by block of its time: all that a comparison asks of it.

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...capture.requires import unrecorded
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...errors import AbsentError, no_task
from ...masking.names import is_kernel_thread
from ...stats.change import Counts
from ...stats.resampling import Floats
from ...timeline.aggregates import groups
from ...timeline.group import Grouping
from ...timeline.owners import thief_labels
from ...timeline.reading import once
from ...timeline.task import Task, rows_of
from ...timeline.task_groups import attached, named
from ...timeline.timeline import Timeline
from ..processes.endpoints import endpoints
from .scheduled import Blocks, scheduled

# Of a run, over all its files.
BLOCKS = 64
_KEYS = ["block", "cpu", "tid", "comm", "context", "thief", "cost_class", "is_network"]
# In whose context time was spent.
CONTEXTS = ("client", "server", "victim", "kernel thread", "other", "idle", "unknown")


class Measured(NamedTuple):
    # seconds: of each block. sums: ns by block, cpu, tid, comm, context, thief (what ran, in
    # words), cost_class and is_network. polled: polls and packets by block and device, None where
    # polls were not recorded. switches, migrations: of each block, None likewise. cpus: recorded.
    # files: their blocks, which follow each other.
    seconds: Floats
    sums: pd.DataFrame
    polled: pd.DataFrame | None
    switches: Floats | None
    migrations: Floats | None
    cpus: int
    files: tuple[Blocks, ...]


@once
def measured(run: Run) -> Measured:
    timelines = run.timelines()
    number = max(BLOCKS // len(timelines), 1)
    files = [_measured(timeline, number) for timeline in timelines]
    if len(files) == 1:
        return files[0]
    # Of a rotated recording one after the other.
    blocks = tuple(own for one in files for own in one.files)
    sums = _following([one.sums for one in files], blocks)
    assert sums is not None
    return Measured(
        np.concatenate([one.seconds for one in files]),
        sums,
        _following([one.polled for one in files], blocks),
        _joined([one.switches for one in files]),
        _joined([one.migrations for one in files]),
        max(one.cpus for one in files),
        blocks,
    )


def ends_of(run: Run) -> dict[str, int]:
    # Client and server by tid; empty where no two tasks were seen to talk.
    return _processes(run)[0]


def scheduled_of(run: Run) -> pd.DataFrame | None:
    # scheduled() of all files, block by block; None where one has none.
    return _processes(run)[1]


# Apart from measured(): a sweep asks for none of it.
@once
def _processes(run: Run) -> tuple[dict[str, int], pd.DataFrame | None]:
    timelines, blocks = run.timelines(), measured(run).files
    pair = endpoints(timelines[0])
    parts = [scheduled(timeline, own) for timeline, own in zip(timelines, blocks, strict=True)]
    ends = dict(zip(("client", "server"), pair, strict=True)) if pair else {}
    return ends, _following(parts, blocks)


def _following(
    parts: Sequence[pd.DataFrame | None], blocks: Sequence[Blocks]
) -> pd.DataFrame | None:
    # Rows of files whose blocks follow each other; None where one has none.
    first, known = 0, []
    for part, own in zip(parts, blocks, strict=True):
        if part is None:
            return None
        known.append(part.assign(block=part["block"] + first))
        first += own.number
    return pd.concat(known, ignore_index=True)


def _joined(parts: list[Floats | None]) -> Floats | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def _measured(timeline: Timeline, number: int) -> Measured:
    start_ns, end_ns = int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"])
    width = max(-(-(end_ns - start_ns) // number), 1)
    first = start_ns // width
    sums = timeline.sums(width)
    if not len(sums):
        raise CaptureError(f"{timeline.capture.path}: no time passes in it, so nothing has a cost")
    sums = sums.assign(block=sums["bin_ns"] // width - first, thief=thief_labels(sums))
    blocks = Blocks(width, first, int(sums["block"].max()) + 1)
    sums = sums.groupby(_KEYS, observed=True, dropna=False, sort=False)["ns"].sum().reset_index()
    cpus = len(timeline.summary["cpus"])
    seconds = np.bincount(sums["block"], sums["ns"], blocks.number) / 1e9 / cpus
    return Measured(seconds, sums, *_counts(timeline, blocks), cpus, (blocks,))


def _counts(
    timeline: Timeline, blocks: Blocks
) -> tuple[pd.DataFrame | None, Floats | None, Floats | None]:
    # polled, switches and migrations of Measured.
    width = blocks.width_ns
    wanted = {
        "napi:napi_poll": Grouping(
            "polls", ("device",), ("end_ns", width), sums=("work",), where=(("work", (1, None)),)
        ),
        "sched:sched_switch": Grouping("slices", (), ("out_ns", width)),
        "sched:sched_migrate_task": Grouping("migrations", (), ("time_ns", width)),
    }
    recorded = [event for event in wanted if not unrecorded(timeline.capture, event)]
    counted = groups(timeline, *(wanted[event] for event in recorded))
    frames = {
        event: of.frame.assign(block=blocks.placed(of.frame["block"]))
        for event, of in zip(recorded, counted, strict=True)
    }
    polls = frames.get("napi:napi_poll")
    switches, migrations = (
        np.bincount(frames[event]["block"], frames[event][rows], blocks.number).astype("float64")
        if event in frames
        else None
        for event, rows in (
            ("sched:sched_switch", "slices"),
            ("sched:sched_migrate_task", "migrations"),
        )
    )
    if polls is not None:
        polls = polls.groupby(["block", "device"], as_index=False).sum()
    return polls, switches, migrations


def by_block(own: Measured, rows: "pd.Series[bool]") -> Floats:
    # ns of these rows of the sums in each block.
    chosen = own.sums[rows.to_numpy(dtype=bool)]
    return np.bincount(chosen["block"], chosen["ns"], len(own.seconds)).astype("float64")


def packets_by_device(own: Measured) -> "pd.Series[int]":
    # Empty where no packet was polled.
    if own.polled is None or not own.polled["packets"].sum():
        return pd.Series(dtype="int64")
    return own.polled.groupby("device")["packets"].sum()


def polled_by(own: Measured, device: object) -> Counts:
    # Packets, and polls with any, of a device in each block.
    assert own.polled is not None
    rows = own.polled[own.polled["device"] == device].set_index("block")[["packets", "polls"]]
    rows = rows.reindex(range(len(own.seconds)), fill_value=0)
    return rows["packets"].to_numpy("float64"), rows["polls"].to_numpy("float64")


def busiest(own: Measured) -> Counts | None:
    # polled_by() of the device with most: one packet may pass several.
    packets = packets_by_device(own)
    return polled_by(own, packets.idxmax()) if len(packets) else None


def victim_of(run: Run, given: Task | None = None) -> Task | None:
    # The task that was given, else the bundle's victim.
    capture = run.captures[0]
    if given:
        return named(capture.timeline(), given)
    return attached(capture) or (capture.bundle.victim_comm if capture.bundle else None)


def task_of(run: Run, end: str, comparison: Comparison) -> Task | None:
    # Who is the client, or the server, of a run.
    given: Task | None = getattr(comparison, end)
    return ends_of(run).get(end) if given is None else given


def require_tasks(comparison: Comparison) -> None:
    # Raises AbsentError for a named task that is in no recording: its figures would be absent, or
    # another's, and nobody told.
    runs = [run for side in comparison.sides.values() for run in side.recorded]
    for task in (comparison.victim, comparison.client, comparison.server):
        if task is None or any(
            len(rows_of(measured(run).sums, victim_of(run, task))) for run in runs
        ):
            continue
        names = [str(one) for run in runs for one in measured(run).sums["comm"].dropna().unique()]
        raise AbsentError(no_task(task, list(dict.fromkeys(names))))


def process_contexts(run: Run, comparison: Comparison) -> "pd.Series[str]":
    # Of each row of a run's sums, one of CONTEXTS.
    sums = measured(run).sums
    comm = sums["comm"].astype("string").fillna("")
    # Recordings have no flag of it.
    is_thread = comm.map({name: is_kernel_thread(name) for name in comm.unique()}).astype(bool)
    found = pd.Series("other", index=sums.index).mask(is_thread, "kernel thread")
    tasks = {
        "victim": victim_of(run, comparison.victim),
        "client": task_of(run, "client", comparison),
        "server": task_of(run, "server", comparison),
    }
    for name, task in tasks.items():
        if task is not None:
            found[rows_of(sums, task).index] = name
    found = found.mask(sums["tid"].eq(0).fillna(False).astype(bool), "idle")
    return found.mask(sums["context"] == "unknown", "unknown")
