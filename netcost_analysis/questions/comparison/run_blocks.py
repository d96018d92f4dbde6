# The recording of one run in blocks of time: CPU time by owner, polls, switches and migrations.

from typing import NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...capture.requires import unrecorded
from ...comparison.run import Run
from ...stats.change import Counts
from ...stats.resampling import Floats, Ints
from ...timeline.aggregates import groups
from ...timeline.group import Grouping
from ...timeline.owners import thief_labels
from ...timeline.reading import once
from ...timeline.timeline import Timeline

# Over all files of a run.
BLOCKS = 64
_KEYS = ["block", "cpu", "tid", "comm", "context", "thief", "cost_class", "is_network"]


class Blocks(NamedTuple):
    # The blocks of one file, which begin at multiples of width_ns. first: the number of the first
    # one, counted from time 0. number: how many. before: how many the run's earlier files have.
    width_ns: int
    first: int
    number: int
    before: int = 0

    def of(self, times: "pd.Series[int]") -> Ints:
        return self.placed(times.dropna().astype("int64") // self.width_ns)

    def placed(self, blocks: "pd.Series[int]") -> Ints:
        # blocks: counted from time 0. The window's end belongs to the last one.
        since = blocks.to_numpy("int64") - self.first
        return since.clip(0, self.number - 1) + self.before


class RunBlocks(NamedTuple):
    # seconds: length of each block. sums: ns by block, cpu, tid, comm, context, thief (what ran),
    # cost_class and is_network. polled: polls and packets by block and device. switches,
    # migrations: counts per block. These three are None where not recorded. cpus: how many were
    # recorded. files: the blocks of each file, in order.
    seconds: Floats
    sums: pd.DataFrame
    polled: pd.DataFrame | None
    switches: Floats | None
    migrations: Floats | None
    cpus: int
    files: tuple[Blocks, ...]


@once
def run_blocks(run: Run) -> RunBlocks:
    timelines = run.timelines()
    files: list[Blocks] = []
    tables: list[dict[str, pd.DataFrame]] = []
    for timeline in timelines:
        before = sum(one.number for one in files)
        sums, blocks = _sums(timeline, max(BLOCKS // len(timelines), 1), before)
        files.append(blocks)
        tables.append({"sums": sums, **_counted(timeline, blocks)})
    # What one file did not record is unknown for the run.
    joined = {
        name: pd.concat([table[name] for table in tables], ignore_index=True)
        for name in tables[0]
        if all(name in table for table in tables)
    }
    number = sum(one.number for one in files)
    cpus = [len(timeline.summary["cpus"]) for timeline in timelines]
    of_file = np.repeat(cpus, [one.number for one in files])
    sums, polled = joined["sums"], joined.get("polls")
    if polled is not None:
        polled = polled.groupby(["block", "device"], as_index=False).sum()

    switches, migrations = (
        np.bincount(joined[name]["block"], joined[name][name], number).astype("float64")
        if name in joined
        else None
        for name in ("slices", "migrations")
    )
    return RunBlocks(
        np.bincount(sums["block"], sums["ns"], number) / 1e9 / of_file,
        *(sums, polled, switches, migrations, max(cpus), tuple(files)),
    )


def _sums(timeline: Timeline, number: int, before: int) -> tuple[pd.DataFrame, Blocks]:
    start_ns, end_ns = int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"])
    width = max(-(-(end_ns - start_ns) // number), 1)
    sums = timeline.sums(width)
    if not len(sums):
        raise CaptureError(f"{timeline.capture.path}: no time passes in it, so nothing has a cost")
    first, last = start_ns // width, int(sums["bin_ns"].max()) // width
    blocks = Blocks(width, first, last - first + 1, before)
    sums = sums.assign(block=blocks.of(sums["bin_ns"]), thief=thief_labels(sums))
    sums = sums.groupby(_KEYS, observed=True, dropna=False, sort=False)["ns"].sum().reset_index()
    return sums, blocks


def _counted(timeline: Timeline, blocks: Blocks) -> dict[str, pd.DataFrame]:
    # Polls with packets, switches ("slices") and migrations, as far as they were recorded.
    width = blocks.width_ns
    with_packets = (("work", (1, None)),)
    groupings = {
        "napi:napi_poll": Grouping(
            "polls", ("device",), ("end_ns", width), sums=("work",), where=with_packets
        ),
        "sched:sched_switch": Grouping("slices", (), ("out_ns", width)),
        "sched:sched_migrate_task": Grouping("migrations", (), ("time_ns", width)),
    }
    wanted = [one for name, one in groupings.items() if not unrecorded(timeline.capture, name)]
    return {
        grouping.rows: found.frame.assign(block=blocks.placed(found.frame["block"]))
        for grouping, found in zip(wanted, groups(timeline, *wanted), strict=True)
    }


def by_block(run: RunBlocks, rows: pd.DataFrame) -> Floats:
    # ns of these rows of the sums, per block.
    return np.bincount(rows["block"], rows["ns"], len(run.seconds)).astype("float64")


def packets_by_device(run: RunBlocks) -> "pd.Series[int]":
    # Empty where no packets were polled.
    if run.polled is None or not run.polled["packets"].sum():
        return pd.Series(dtype="int64")
    return run.polled.groupby("device")["packets"].sum()


def polled_by(run: RunBlocks, device: object) -> Counts:
    # Packets of a device, and its polls with packets, per block.
    assert run.polled is not None
    rows = run.polled[run.polled["device"] == device].set_index("block")[["packets", "polls"]]
    rows = rows.reindex(range(len(run.seconds)), fill_value=0)
    return rows["packets"].to_numpy("float64"), rows["polls"].to_numpy("float64")


def busiest(run: RunBlocks) -> Counts | None:
    # polled_by() of the device with most packets: a packet may pass several devices.
    packets = packets_by_device(run)
    return polled_by(run, packets.idxmax()) if len(packets) else None
