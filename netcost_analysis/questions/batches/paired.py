# Softirqs with interrupts and polls, in one pass for all questions that pair them.

from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...capture.requires import unrecorded
from ...frames import to_frame
from ...timeline.aggregates import Aggregate
from ...timeline.reading import once, window_of
from ...timeline.timeline import Timeline
from .chain_sums import ChainSums
from .common import plain, record_gaps
from .kernel_limits import MAX_SOFTIRQ_RESTART, KernelLimits, limits_of
from .poll_sums import Gathered, gathered_of

# Of softirqs or runs, some 250 bytes each. Of a window with more, its rows up to a time are shown.
MAX_ROWS = 200_000
_RUN_KINDS = ["in_kthread", "rounds_made", "still_pending", "end_reason"]


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


def _pairing(timeline: Timeline, hz: int | None = None, picked: Picked | None = None) -> Pairing:
    capture, window, gaps = timeline.capture, window_of(timeline), record_gaps(timeline)
    spans = zip(gaps.groups.tolist(), gaps.starts.tolist(), gaps.ends.tolist(), strict=True)
    return Pairing(
        (window.start_ns, window.end_ns),
        tuple(spans),
        limits_of(capture, hz=hz).softirq_limit_ns,
        not unrecorded(capture, "napi:napi_poll"),
        not unrecorded(capture, "irq:softirq_raise"),
        picked or Picked(),
    )


PAIRED = Aggregate(_pairing)
INPUTS = (PAIRED, "coverage")


class Paired:
    # gathered: of polls, for lines and prices. chain_sums: of all chains; chains: the first rows of
    # softirq_chains(); picked: those of long_softirqs(). run_counts: by _RUN_KINDS, of all runs;
    # runs: the first rows of softirq_runs().
    def __init__(self, told: dict[str, pd.DataFrame]) -> None:
        self._told = told

    def _numbered(self, name: str) -> pd.DataFrame:
        # Rows with their run; runs are numbered CPU after CPU.
        number, rows = self._told["runs_of_cpu"].set_index("cpu")["runs"], self._told[name]
        before = rows["cpu"].map(number.cumsum() - number).to_numpy(dtype="int64")
        rows = rows.assign(call=rows["call"] + before)
        return rows.astype({"device": "str"}) if "device" in rows else rows

    @cached_property
    def gathered(self) -> Gathered:
        return gathered_of(self._told)

    @cached_property
    def chain_sums(self) -> ChainSums:
        return ChainSums(*(self._told[name] for name in ("by_device", "by_polls", "counts")))

    @property
    def steered(self) -> pd.DataFrame:
        # By cpu, tid and comm, the own time (ns) of stolen NET_RX that a vector raised.
        return self._told["steered"]

    @property
    def chains(self) -> pd.DataFrame:
        return self._numbered("chains")

    @property
    def runs(self) -> pd.DataFrame:
        return self._numbered("runs")

    @property
    def run_counts(self) -> pd.DataFrame:
        return self._told["run_counts"].sort_values(_RUN_KINDS, ignore_index=True)

    @property
    def picked(self) -> pd.DataFrame:
        # The strange ones and the longest, with picked; the longest first.
        longest, strange = self._numbered("longest"), self._numbered("strange")
        rows = pd.concat([strange.assign(picked="few packets"), longest.assign(picked="longest")])
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


@once
def paired(timeline: Timeline, hz: int | None = None, picked: Picked | None = None) -> Paired:
    # hz: as limits_of() takes it.
    found = PAIRED(timeline, _pairing(timeline, hz, picked))
    return Paired({name: plain(to_frame(table)) for name, table in found.items()})
