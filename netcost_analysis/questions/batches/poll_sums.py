# Polls with their share of what surrounds them: what lines and prices follow from.

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...stats.line import Parts
from ...stats.resampling import Ints
from ...timeline.reading import once
from ...timeline.timeline import Timeline
from .paired import paired

_OWNER = ["device", "cpu"]
# Where the kernel's napi_poll has no work.
NO_WORK = -1
_SHARED = ("outside_polls_ns", "irq_ns", "raised")
_LINE = ["polls", "packets", "ns", "squares", "products"]


class Stretches(NamedTuple):
    # Polls in order of time, summed in stretches of neighbours (native/src/pairing/line.rs). sums:
    # by device, CPU, number of the stretch, and kind as stats/line.py has them. seen: polls by
    # device and CPU. power: a stretch is of so many polls, as a power of two.
    sums: pd.DataFrame
    seen: "pd.Series[int]"
    power: int

    def parts(self, device: str, cpu: int | None, work: Ints) -> Parts:
        # What a line is laid through: of a device, or of it on one CPU. work: each that occurs.
        sums = self.sums.sort_values([*_OWNER, "stretch", "kind"], ignore_index=True)
        sums = sums[(sums["device"] == device) & ((sums["cpu"] == cpu) | (cpu is None))]
        # CPU after CPU, each in order of time.
        seen: pd.Series[int] = self.seen.xs(device, level="device")
        before = seen.cumsum() - seen if cpu is None else seen * 0
        within = sums["stretch"].to_numpy(dtype="int64") << self.power
        first = sums["cpu"].map(before).to_numpy(dtype="int64") + within
        # The sum of ns squared, in two parts, of which either stays within 64 bits.
        high, low = (int(sums[name].sum()) for name in ("high", "low"))
        line = np.asarray(sums[_LINE].to_numpy(dtype="int64"))
        return Parts(first, sums["kind"].to_numpy(), line, float((high << 32) + low), work)


class Gathered(NamedTuple):
    # sizes: by device, cpu and work (or NO_WORK): polls; known, those whose time and packets are,
    # and known_ns; whole, those of them that lie whole in the window, and whole_ns. stretches: of
    # those with packets. around: by device and cpu, of all polls and, with known_ before, of known
    # ones, their shares of what the softirq did outside polls and of the interrupt that raised it:
    # outside_polls_ns, irq_ns, raised (interrupts); again: known polls whose softirq polled the
    # device once more. lines: cpu, device, irqs, irq_ns of devices' own interrupt lines, which are
    # not in around.
    sizes: pd.DataFrame
    stretches: Stretches
    around: pd.DataFrame
    lines: pd.DataFrame


@once
def gathered(timeline: Timeline) -> Gathered:
    return gathered_of(paired(timeline))


def gathered_of(tables: Mapping[str, pd.DataFrame]) -> Gathered:
    # Of native's sums (native/src/pairing/sums.rs).
    lines = tables["lines"]
    around = tables["around"].sort_values([*_OWNER, "shared", "line"], ignore_index=True)
    has_line = around["line"].isin(lines["irq"].dropna())
    # One that shares its softirq with none, or with so many: whole numbers up to here, so that
    # no digit hangs on how rows were dealt in batches.
    shared = around["shared"].astype("float64")
    for name in (f"{prefix}{name}" for prefix in ("", "known_") for name in _SHARED):
        values = around[name].astype("float64")
        if not name.endswith("outside_polls_ns"):
            values = values.mask(has_line, 0.0)
        around[name] = (values / shared).where(shared > 0, 0.0)
    around = around.drop(columns=["shared", "line"]).groupby(_OWNER).sum()
    lines = lines.groupby(["cpu", "device"])[["irqs", "irq_ns"]].sum().reset_index()
    sizes = tables["sizes"].set_index([*_OWNER, "work"]).sort_index()
    seen = tables["seen"].set_index(_OWNER)["polls"].sort_index()
    stretches = Stretches(tables["stretches"], seen, int(tables["power"]["power"].iloc[0]))
    return Gathered(sizes, stretches, around, lines)


def work_is_known(work: Gathered) -> bool:
    # Before Linux 4.8 napi_poll has none.
    return bool((work.sizes.index.get_level_values("work") != NO_WORK).any())
