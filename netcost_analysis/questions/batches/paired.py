# Softirqs with interrupts and polls, in one pass for all questions that pair them.

from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...capture.requires import unrecorded
from ...spans import Spans
from ...timeline.timeline import Timeline
from ..folds import fold
from ..inputs import Window, added, window_of
from .chain_sums import ChainSums
from .common import record_gaps
from .first_rows import FirstRows
from .kernel_limits import KernelLimits, limits_of
from .pairing import TABLES, Pairing, Settled
from .poll_sums import Gathered, PollSums
from .rounds import MAX_SOFTIRQ_RESTART

INPUTS = (*TABLES, "coverage")
_RUN_KINDS = ["in_kthread", "rounds_made", "still_pending", "end_reason"]
CHAIN = (
    *("cpu", "ordinal", "irq", "name", "irq_context", "irq_ns", "irq_gap_ns"),
    *("raise_ns", "entry_ns", "exit_ns", "raise_delay_ns", "call", "round"),
    *("origin", "in_kthread", "cost_class", "tid", "comm", "device", "devices"),
    *("polls", "packets", "poll_ns", "outside_polls_ns", "nested_ns", "wall_ns"),
)


class Recorded(NamedTuple):
    # What of a capture the events do not say: the window, gaps of the record, limits of the kernel,
    # whether polls and raises were recorded.
    window: Window
    gaps: Spans
    limits: KernelLimits
    polls: bool
    raises: bool


class Picked(NamedTuple):
    # Which chains are out of the ordinary: as long_softirqs() takes it.
    longer_ns: int = 20_000_000
    fewer_packets: int = 64
    longest: int = 5


class Paired:
    # gathered: of polls, for lines and prices. chain_sums: of all chains; chains: the first rows of
    # softirq_chains(); picked: those of long_softirqs(). run_counts: by _RUN_KINDS, of all runs;
    # runs: the first rows of softirq_runs().
    def __init__(self, recorded: Recorded, picked: Picked) -> None:
        self._recorded, self._picked = recorded, picked
        self._pairing = Pairing(recorded.gaps)
        self._is_over = False
        self._sums = PollSums(recorded.window)
        self.chain_sums = ChainSums()
        self._chains = FirstRows("entry_ns")
        self._longest = FirstRows("order", picked.longest)
        self._strange = FirstRows("order")
        self._run_counts: pd.DataFrame | None = None
        self._runs = FirstRows("start_ns")
        self._runs_of_cpu: pd.Series[int] = pd.Series(dtype="int64")

    def add(self, softirqs: pd.DataFrame, hardirqs: pd.DataFrame, polls: pd.DataFrame) -> None:
        self._sums.add(hardirqs, polls)
        self._take(self._pairing.add(softirqs, hardirqs, polls))

    def finish(self) -> None:
        # Once; nothing comes any more.
        if not self._is_over:
            self._is_over = True
            self._take(self._pairing.rest())

    def _take(self, told: Settled) -> None:
        self._sums.take(told)
        chains = self._masked(told.chains)
        self.chain_sums.add(chains)
        self._chains.add(chains)
        falling = chains.assign(order=-chains["wall_ns"])
        self._longest.add(falling)
        few = (chains["packets"] < self._picked.fewer_packets).fillna(False).astype(bool)
        self._strange.add(falling[few & (chains["wall_ns"] >= self._picked.longer_ns)])
        runs = self._ended(told.runs)
        self._runs.add(runs)
        counts = runs.groupby(_RUN_KINDS, dropna=False).size().to_frame("run_count")
        self._run_counts = added(self._run_counts, counts)
        number = runs.groupby("cpu").size()
        self._runs_of_cpu = self._runs_of_cpu.add(number, fill_value=0).astype("int64")

    def _masked(self, chains: pd.DataFrame) -> pd.DataFrame:
        rows, window = chains[list(CHAIN)].copy(), self._recorded.window
        if not self._recorded.polls:
            for name in ("polls", "packets", "devices", "poll_ns", "outside_polls_ns"):
                rows[name] = pd.array([pd.NA] * len(rows), dtype="Int64")
        cut = (rows["entry_ns"] < window.start_ns) | (rows["exit_ns"] > window.end_ns)
        for name in ("poll_ns", "outside_polls_ns", "nested_ns"):
            rows[name] = rows[name].astype("Int64").mask(cut.to_numpy(dtype=bool))
        return rows

    def _ended(self, runs: pd.DataFrame) -> pd.DataFrame:
        if not self._recorded.raises:
            unknown = pd.array([pd.NA] * len(runs), dtype="boolean")
            return runs.assign(still_pending=unknown, end_reason="unknown")
        pending = np.flatnonzero(runs["still_pending"])
        stopped = runs.iloc[pending]
        reason = np.full(len(runs), "nothing pending", dtype=object)
        reason[pending] = stopped_by(
            stopped["rounds_made"], stopped["wall_ns"], self._recorded.limits
        )
        return runs.assign(still_pending=runs["still_pending"].astype("boolean"), end_reason=reason)

    def _numbered(self, rows: pd.DataFrame) -> pd.DataFrame:
        # Runs are numbered CPU after CPU.
        number = self._runs_of_cpu.sort_index()
        before = rows["cpu"].map(number.cumsum() - number).to_numpy(dtype="int64")
        return rows.assign(call=rows["call"] + before)

    @cached_property
    def gathered(self) -> Gathered:
        return self._sums.gathered()

    @property
    def chains(self) -> pd.DataFrame:
        return self._numbered(self._chains.frame()).astype({"device": "str"})

    @property
    def runs(self) -> pd.DataFrame:
        return self._numbered(self._runs.frame())

    @property
    def run_counts(self) -> pd.DataFrame:
        assert self._run_counts is not None
        return self._run_counts.reset_index()

    @property
    def picked(self) -> pd.DataFrame:
        # The strange ones and the longest, with picked; the longest first.
        longest, strange = self._longest.frame(), self._strange.frame()
        rows = pd.concat([strange.assign(picked="few packets"), longest.assign(picked="longest")])
        rows = rows.drop_duplicates(["cpu", "ordinal"])
        rows = rows.sort_values(["cpu", "entry_ns", "ordinal"], kind="stable")
        rows = rows.sort_values("order", kind="stable", ignore_index=True)
        return self._numbered(rows.drop(columns="order")).astype({"device": "str"})


def stopped_by(
    rounds: "pd.Series[int]", ns: "pd.Series[int]", limits: KernelLimits
) -> "np.ndarray[tuple[int], np.dtype[np.object_]]":
    # Which limit ended runs after which something was pending.
    least, most = limits.softirq_limit_ns
    by_time = np.where(
        ns >= most, "time", np.where(ns > least, "time or need_resched", "need_resched")
    )
    return np.where(rounds == MAX_SOFTIRQ_RESTART, "rounds", by_time).astype(object)


def paired(timeline: Timeline, hz: int | None = None, picked: Picked | None = None) -> Paired:
    # hz: as limits_of() takes it.
    capture = timeline.capture
    recorded = Recorded(
        window_of(timeline),
        record_gaps(timeline),
        limits_of(capture, hz=hz),
        not unrecorded(capture, "napi:napi_poll"),
        not unrecorded(capture, "irq:softirq_raise"),
    )
    found = _paired(timeline, recorded=recorded, picked=picked or Picked())
    found.finish()
    return found


@fold(*TABLES)
def _paired(
    state: Paired | None,
    softirqs: pd.DataFrame,
    hardirqs: pd.DataFrame,
    polls: pd.DataFrame,
    *,
    recorded: Recorded,
    picked: Picked,
) -> Paired:
    state = state or Paired(recorded, picked)
    state.add(softirqs, hardirqs, polls)
    return state
