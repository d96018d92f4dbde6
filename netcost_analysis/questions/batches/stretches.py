# Polls in order of time, summed in stretches of neighbours, over batches: as long ones as it takes
# to have no more than so many. Where there are fewer polls than that, each is a stretch.

import numpy as np
import pandas as pd

from ...stats.line import Parts, kinds
from ...stats.resampling import Ints
from ..grouped import sums_by
from .common import in_order

_MOST = 100_000
_OWNER = ["device", "cpu"]
_KEYS = [*_OWNER, "stretch", "kind"]
_LINE = ["polls", "packets", "ns", "squares", "products"]
# The sum of ns squared, in two parts, of which either stays within 64 bits.
_SQUARED = ["high", "low"]


class Stretches:
    # Sums by device, CPU, number of the stretch, and kind as stats/line.py has them.
    def __init__(self) -> None:
        # Those that were added up, and those that are yet to be, of the same power.
        self._sums: pd.DataFrame | None = None
        self._parts: list[pd.DataFrame] = []
        self._seen: pd.Series[int] | None = None
        # A stretch is of so many polls, as a power of two.
        self._power = 0

    def add(self, polls: pd.DataFrame) -> None:
        # The next polls: device, cpu, end_ns, and, of those with packets, work and self_ns.
        rows = in_order(polls, "cpu", "end_ns")
        groups = rows.groupby(_OWNER, observed=True, sort=False)
        number = groups.size()
        owners = number.index.to_frame().astype({"device": object})
        number = number.set_axis(pd.MultiIndex.from_frame(owners))
        place = groups.cumcount().to_numpy(dtype="int64")
        if self._seen is None:
            self._seen = number
        else:
            before = self._seen.reindex(number.index, fill_value=0).to_numpy(dtype="int64")
            place = place + before[groups.ngroup().to_numpy()]
            self._seen = self._seen.add(number, fill_value=0)
        work, ns = (rows[name].to_numpy(dtype="int64") for name in ("work", "self_ns"))
        # 64 bits hold the square of four seconds.
        squared = np.minimum(ns, 2**32 - 1).astype("uint64") ** np.uint64(2)
        keys = rows[_OWNER].assign(stretch=place >> self._power, kind=kinds(work))
        values = {
            "polls": np.ones_like(work),
            "packets": work,
            "ns": ns,
            "squares": work * work,
            "products": work * ns,
            "high": (squared >> np.uint64(32)).astype("int64"),
            "low": (squared & np.uint64(2**32 - 1)).astype("int64"),
        }
        self._parts.append(sums_by(keys, values))
        if sum(map(len, self._parts)) > _MOST:
            self._add_up()

    def _add_up(self) -> None:
        self._sums = pd.concat([self._sums, *self._parts]).groupby(level=_KEYS).sum()
        self._parts = []
        while len(self._sums) > _MOST and self._power < 62:
            self._power += 1
            longer = self._sums.reset_index()
            longer["stretch"] //= 2
            self._sums = longer.groupby(_KEYS).sum()

    def parts(self, device: str, cpu: int | None, work: Ints) -> Parts:
        # What a line is laid through: of a device, or of it on one CPU. work: each that occurs.
        if self._parts:
            self._add_up()
        assert self._sums is not None
        assert self._seen is not None
        sums = self._sums.reset_index()
        sums = sums[(sums["device"] == device) & ((sums["cpu"] == cpu) | (cpu is None))]
        # CPU after CPU, each in order of time.
        seen: pd.Series[int] = self._seen.xs(device, level="device")
        before = seen.cumsum() - seen if cpu is None else seen * 0
        within = sums["stretch"].to_numpy(dtype="int64") << self._power
        first = sums["cpu"].map(before).to_numpy(dtype="int64") + within
        high, low = (int(sums[name].sum()) for name in _SQUARED)
        line = np.asarray(sums[_LINE].to_numpy(dtype="int64"))
        return Parts(first, sums["kind"].to_numpy(), line, float((high << 32) + low), work)
