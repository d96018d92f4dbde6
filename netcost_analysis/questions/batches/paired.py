# Softirqs with interrupts and polls, in one pass for all questions that pair them.

from typing import NamedTuple

import numpy as np
import pandas as pd

from ...capture.requires import unrecorded
from ...frames import to_frame
from ...spans import spans_of
from ...timeline.aggregates import Aggregate
from ...timeline.reading import once, rows, window_of
from ...timeline.timeline import Timeline
from .common import plain
from .kernel_limits import MAX_SOFTIRQ_RESTART, KernelLimits, limits_of

# Of softirqs or runs, some 250 bytes each. Of a window with more, its rows up to a time are shown.
MAX_ROWS = 200_000


class Picked(NamedTuple):
    # Which chains are out of the ordinary: as long_softirqs() takes it.
    longer_ns: int = 20_000_000
    fewer_packets: int = 64
    longest: int = 5


class Pairing(NamedTuple):
    """Native's aggregate, with what of a capture the events do not say.

    gaps: CPU, start, end of those of the record, across which nothing is measured. limit_ns: as
    KernelLimits has it. most: rows of a table that are told.
    """

    window: tuple[int, int]
    gaps: tuple[tuple[int, int, int], ...]
    limit_ns: tuple[int, int]
    has_polls: bool
    has_raises: bool
    picked: Picked
    most: int = MAX_ROWS


@once
def _record_gaps(timeline: Timeline) -> tuple[tuple[int, int, int], ...]:
    # A row for each loss, so that there are few.
    gaps = spans_of(rows(timeline, "coverage")[0], group="cpu")
    spans = zip(gaps.groups.tolist(), gaps.starts.tolist(), gaps.ends.tolist(), strict=True)
    return tuple(spans)


def _pairing(timeline: Timeline, hz: int | None = None, picked: Picked | None = None) -> Pairing:
    capture, window = timeline.capture, window_of(timeline)
    return Pairing(
        (window.start_ns, window.end_ns),
        _record_gaps(timeline),
        limits_of(capture, hz=hz).softirq_limit_ns,
        not unrecorded(capture, "napi:napi_poll"),
        not unrecorded(capture, "irq:softirq_raise"),
        picked or Picked(),
    )


PAIRED = Aggregate(_pairing)
INPUTS = (PAIRED, "coverage")


@once
def paired(
    timeline: Timeline, hz: int | None = None, picked: Picked | None = None
) -> dict[str, pd.DataFrame]:
    # Native's tables (native/src/pairing). by_polls: NET_RX by has_polls (0, 1, -1 where polls were
    # not recorded). by_device: by what was polled first, sums of their times, and how many each is
    # known of. counts: how many, by what ("origin", "name" of the interrupt, "in_kthread",
    # "raised") and which. chains, runs: the first rows. longest, strange: chains that were picked.
    # run_counts: of all runs. steered: own time of stolen NET_RX that a vector raised. Those of
    # gathered_of() besides. hz: as limits_of() takes it.
    tables = PAIRED(timeline, _pairing(timeline, hz, picked))
    return {name: plain(to_frame(table)) for name, table in tables.items()}


def numbered(tables: dict[str, pd.DataFrame], name: str) -> pd.DataFrame:
    # Rows of chains or runs with the number of their run: runs are numbered CPU after CPU.
    number, rows = tables["runs_of_cpu"].set_index("cpu")["runs"], tables[name]
    before = rows["cpu"].map(number.cumsum() - number).to_numpy(dtype="int64")
    rows = rows.assign(call=rows["call"] + before)
    return rows.astype({"device": "str"}) if "device" in rows else rows


def outliers(timeline: Timeline, picked: Picked) -> pd.DataFrame:
    # The chains that took long for few packets, and the longest; the longest first.
    tables = paired(timeline, picked=picked)
    few, longest = (numbered(tables, name) for name in ("strange", "longest"))
    rows = pd.concat([few.assign(picked="few packets"), longest.assign(picked="longest")])
    rows = rows.drop_duplicates(["cpu", "ordinal"])
    rows = rows.sort_values(["cpu", "entry_ns", "ordinal"], kind="stable")
    return rows.sort_values("wall_ns", ascending=False, kind="stable", ignore_index=True)


def stopped_by(
    rounds: "pd.Series[int]", ns: "pd.Series[int]", limits: KernelLimits
) -> "np.ndarray[tuple[int], np.dtype[np.object_]]":
    # Which limit ended runs after which something was pending.
    least, most = limits.softirq_limit_ns
    by_time = np.where(
        ns >= most, "time", np.where(ns > least, "time or need_resched", "need_resched")
    )
    return np.where(rounds == MAX_SOFTIRQ_RESTART, "rounds", by_time).astype(object)
