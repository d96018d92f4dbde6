# What the recording of one run says, block by block of its time: all that a comparison asks of it.

from typing import NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...capture.requires import unrecorded
from ...comparison.run import Run
from ...stats.resampling import Floats
from ...timeline.aggregates import groups
from ...timeline.group import Grouping
from ...timeline.owners import thief_labels
from ...timeline.reading import once
from ...timeline.task import Task
from ...timeline.task_groups import attached, named
from ...timeline.timeline import Timeline
from ..processes.endpoints import endpoints
from .scheduled import Blocks, scheduled

# Of a run, over all its files.
BLOCKS = 64
_KEYS = ["block", "cpu", "tid", "comm", "context", "thief", "cost_class", "is_network"]


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
    each = max(BLOCKS // len(timelines), 1)
    files = [_measured(timeline, each) for timeline in timelines]
    return files[0] if len(files) == 1 else _joined(files)


def ends_of(run: Run) -> dict[str, int]:
    # Client and server by tid; empty where no two tasks were seen to talk.
    return _processes(run)[0]


def scheduled_of(run: Run) -> pd.DataFrame | None:
    # scheduled() of all files, block by block; None where one has none.
    return _processes(run)[1]


# Apart from measured(): a sweep asks for none of it.
@once
def _processes(run: Run) -> tuple[dict[str, int], pd.DataFrame | None]:
    parts: list[pd.DataFrame | None] = []
    first, timelines = 0, run.timelines()
    pair = endpoints(timelines[0])
    for timeline, blocks in zip(timelines, measured(run).files, strict=True):
        found = scheduled(timeline, blocks)
        parts.append(None if found is None else found.assign(block=found["block"] + first))
        first += blocks.number
    known = [part for part in parts if part is not None]
    whole = pd.concat(known, ignore_index=True) if len(known) == len(parts) else None
    return dict(zip(("client", "server"), pair, strict=True)) if pair else {}, whole


def _joined(files: list[Measured]) -> Measured:
    # The files of one run, one after the other.
    first, sums, polled = 0, [], []
    for one in files:
        sums.append(one.sums.assign(block=one.sums["block"] + first))
        if one.polled is not None:
            polled.append(one.polled.assign(block=one.polled["block"] + first))
        first += len(one.seconds)

    def together(parts: list[Floats | None]) -> Floats | None:
        known = [part for part in parts if part is not None]
        return np.concatenate(known) if len(known) == len(parts) else None

    return Measured(
        np.concatenate([one.seconds for one in files]),
        pd.concat(sums, ignore_index=True),
        pd.concat(polled, ignore_index=True) if len(polled) == len(files) else None,
        together([one.switches for one in files]),
        together([one.migrations for one in files]),
        max(one.cpus for one in files),
        tuple(blocks for one in files for blocks in one.files),
    )


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
    recorded = [one for one in wanted if not unrecorded(timeline.capture, one)]
    found = {
        one: of.frame.assign(block=blocks.placed(of.frame["block"]))
        for one, of in zip(
            recorded, groups(timeline, *(wanted[one] for one in recorded)), strict=True
        )
    }

    def counted(event: str, rows: str) -> Floats | None:
        if event not in found:
            return None
        of = found[event]
        return np.bincount(of["block"], of[rows], blocks.number).astype("float64")

    polls = found.get("napi:napi_poll")
    return (
        None if polls is None else polls.groupby(["block", "device"], as_index=False).sum(),
        counted("sched:sched_switch", "slices"),
        counted("sched:sched_migrate_task", "migrations"),
    )


def busiest(own: Measured) -> tuple[Floats, Floats] | None:
    # Packets, and polls with any, in each block, of the device with most: one packet may pass
    # several. None where no packet was polled.
    if own.polled is None or not own.polled["packets"].sum():
        return None
    device = own.polled.groupby("device")["packets"].sum().idxmax()
    rows = own.polled[own.polled["device"] == device].set_index("block")[["packets", "polls"]]
    rows = rows.reindex(range(len(own.seconds)), fill_value=0)
    return rows["packets"].to_numpy("float64"), rows["polls"].to_numpy("float64")


def victim_of(run: Run, given: Task | None = None) -> Task | None:
    # The task that was given, else the bundle's victim.
    capture = run.captures[0]
    if given:
        return named(capture.timeline(), given)
    return attached(capture.timeline()) or (capture.bundle.victim_comm if capture.bundle else None)
