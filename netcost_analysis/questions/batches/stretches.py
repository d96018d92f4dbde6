# Polls in order of time, summed in stretches of neighbours: native/src/pairing/line.rs.

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...stats.line import Parts
from ...stats.resampling import Ints

_KEYS = ["device", "cpu", "stretch", "kind"]
_LINE = ["polls", "packets", "ns", "squares", "products"]
# The sum of ns squared, in two parts, of which either stays within 64 bits.
_SQUARED = ["high", "low"]


@dataclass(frozen=True)
class Stretches:
    # sums: by device, CPU, number of the stretch, and kind as stats/line.py has them. seen: by
    # device and CPU, polls. power: a stretch is of so many polls, as a power of two.
    sums: pd.DataFrame
    seen: "pd.Series[int]"
    power: int

    def parts(self, device: str, cpu: int | None, work: Ints) -> Parts:
        # What a line is laid through: of a device, or of it on one CPU. work: each that occurs.
        sums = self.sums.sort_values(_KEYS, ignore_index=True)
        sums = sums[(sums["device"] == device) & ((sums["cpu"] == cpu) | (cpu is None))]
        # CPU after CPU, each in order of time.
        seen: pd.Series[int] = self.seen.xs(device, level="device")
        before = seen.cumsum() - seen if cpu is None else seen * 0
        within = sums["stretch"].to_numpy(dtype="int64") << self.power
        first = sums["cpu"].map(before).to_numpy(dtype="int64") + within
        high, low = (int(sums[name].sum()) for name in _SQUARED)
        line = np.asarray(sums[_LINE].to_numpy(dtype="int64"))
        return Parts(first, sums["kind"].to_numpy(), line, float((high << 32) + low), work)
