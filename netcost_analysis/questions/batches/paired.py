# Softirqs paired with interrupts and polls, in one pass for all questions that need the pairs; and
# sums over polls and what surrounds them, from which lines and prices follow.

from typing import NamedTuple

import numpy as np
import pandas as pd

from ...capture.requires import unrecorded
from ...frames import plain_frame
from ...spans import spans_of
from ...stats.line import Parts
from ...stats.resampling import Ints
from ...timeline.aggregates import Aggregate
from ...timeline.reading import bounds_of, once, rows
from ...timeline.timeline import Timeline
from .kernel_limits import MAX_SOFTIRQ_RESTART, KernelLimits, limits_of

# Softirqs or runs that a table holds, some 250 bytes each: those that began first.
MAX_ROWS = 100_000
_OWNER = ["device", "cpu"]
# Where the kernel's napi_poll has no work.
NO_WORK = -1
_SHARED = ("outside_polls_ns", "irq_ns", "raised")
_LINE = ["polls", "packets", "ns", "squares", "products"]


class Picked(NamedTuple):
    # Which chains are unusual: the parameters of long_softirqs.
    longer_ns: int = 20_000_000
    fewer_packets: int = 64
    longest: int = 5


class Pairing(NamedTuple):
    """Native's aggregate, with what the events do not say.

    gaps: CPU, start and end of each gap of the record, across which nothing is measured. limit_ns:
    softirq_limit_ns of KernelLimits. most: rows of a table.
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
    gaps = spans_of(rows(timeline, "coverage")[0], group="cpu")
    return tuple(zip(*(of.tolist() for of in (gaps.groups, gaps.starts, gaps.ends)), strict=True))


def _pairing(timeline: Timeline, hz: int | None = None, picked: Picked | None = None) -> Pairing:
    capture, window = timeline.capture, bounds_of(timeline)
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
    # not recorded). by_device: sums of times, with the number of chains that have each, by the
    # device that was polled first. counts: numbers by what ("origin", "name" of the interrupt,
    # "in_kthread", "raised") and which. chains, runs: the first rows. longest, strange: picked
    # chains. run_counts: of all runs. steered: own time of stolen NET_RX that a vector raised. The
    # others are those of gathered(). hz: as limits_of() takes it.
    tables = PAIRED(timeline, _pairing(timeline, hz, picked))
    return {name: plain_frame(table) for name, table in tables.items()}


def stopped_by(
    rounds: "pd.Series[int]", ns: "pd.Series[int]", limits: KernelLimits
) -> "np.ndarray[tuple[int], np.dtype[np.object_]]":
    # Which limit ended each run, where something was still pending.
    least, most = limits.softirq_limit_ns
    by_time = np.where(
        ns >= most, "time", np.where(ns > least, "time or need_resched", "need_resched")
    )
    return np.where(rounds == MAX_SOFTIRQ_RESTART, "rounds", by_time).astype(object)


class Stretches(NamedTuple):
    # Polls in order of time, summed in stretches of neighbours (native/src/pairing/line.rs). sums:
    # by device, CPU, number of the stretch, and kind as in stats/line.py. polls: how many, by
    # device and CPU. power: a stretch has 2 ** power polls.
    sums: pd.DataFrame
    polls: "pd.Series[int]"
    power: int

    def parts(self, device: str, cpu: int | None, work: Ints) -> Parts:
        # What a line is fitted to: polls of a device, on one CPU if given. work: sizes that occur.
        sums = self.sums.sort_values([*_OWNER, "stretch", "kind"], ignore_index=True)
        sums = sums[(sums["device"] == device) & ((sums["cpu"] == cpu) | (cpu is None))]
        # CPU after CPU, each in order of time.
        polls: pd.Series[int] = self.polls.xs(device, level="device")
        before = polls.cumsum() - polls if cpu is None else polls * 0
        within = sums["stretch"].to_numpy(dtype="int64") << self.power
        first = sums["cpu"].map(before).to_numpy(dtype="int64") + within
        # The sum of ns squared, in two parts, of which either stays within 64 bits.
        high, low = (int(sums[name].sum()) for name in ("high", "low"))
        line = np.asarray(sums[_LINE].to_numpy(dtype="int64"))
        return Parts(first, sums["kind"].to_numpy(), line, float((high << 32) + low), work)


class Gathered(NamedTuple):
    # sizes: by device, cpu and work (or NO_WORK): polls; known and known_ns, polls of known time
    # and packets; whole and whole_ns, known polls that the window does not cut. stretches: of whole
    # polls with packets. around: by device and cpu, what softirqs spent outside polls and the
    # interrupts that raised them: outside_polls_ns, irq_ns, raised (interrupts); the same of known
    # polls, as known_NAME; again: known polls whose softirq polled the device once more. lines:
    # cpu, device, irqs, irq_ns of devices' own interrupt lines, which are not in around.
    sizes: pd.DataFrame
    stretches: Stretches
    around: pd.DataFrame
    lines: pd.DataFrame


@once
def gathered(timeline: Timeline) -> Gathered:
    # From native's sums (native/src/pairing/sums.rs).
    tables = paired(timeline)
    lines = tables["lines"]
    around = tables["around"].sort_values([*_OWNER, "shared", "line"], ignore_index=True)
    has_line = around["line"].isin(lines["irq"].dropna())
    # Sums are whole numbers up to here, so that they do not depend on the order of batches. shared:
    # the polls that share a softirq.
    shared = around["shared"].astype("float64")
    for name in (f"{prefix}{name}" for prefix in ("", "known_") for name in _SHARED):
        values = around[name].astype("float64")
        if not name.endswith("outside_polls_ns"):
            values = values.mask(has_line, 0.0)
        around[name] = (values / shared).where(shared > 0, 0.0)
    around = around.drop(columns=["shared", "line"]).groupby(_OWNER).sum()
    lines = lines.groupby(["cpu", "device"])[["irqs", "irq_ns"]].sum().reset_index()
    sizes = tables["sizes"].set_index([*_OWNER, "work"]).sort_index()
    polls = tables["seen"].set_index(_OWNER)["polls"].sort_index()
    stretches = Stretches(tables["stretches"], polls, int(tables["power"]["power"].iloc[0]))
    return Gathered(sizes, stretches, around, lines)


def work_is_known(work: Gathered) -> bool:
    # Before Linux 4.8 napi_poll has none.
    return bool((work.sizes.index.get_level_values("work") != NO_WORK).any())
