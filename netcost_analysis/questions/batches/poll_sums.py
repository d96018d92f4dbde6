# Polls with their share of what surrounds them: what lines and prices follow from.

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from .common import int64
from .stretches import Stretches

_OWNER = ["device", "cpu"]
# Where the kernel's napi_poll has no work.
NO_WORK = -1
_SHARED = ("outside_polls_ns", "irq_ns", "raised")


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


def gathered_of(told: Mapping[str, pd.DataFrame]) -> Gathered:
    # Of native's sums (native/src/pairing/sums.rs).
    lines = told["lines"]
    around = told["around"].sort_values([*_OWNER, "shared", "line"], ignore_index=True)
    own = around["line"].isin(set(int64(lines["irq"])) - {-1}).to_numpy()
    # One that shares its softirq with none, or with so many: whole numbers up to here, so that
    # no digit hangs on how rows were dealt in batches.
    shared = around["shared"].to_numpy(dtype="float64")
    for prefix in ("", "known_"):
        for name in _SHARED:
            values = around[f"{prefix}{name}"].astype("float64")
            around[f"{prefix}{name}"] = values.mask(own & (name != "outside_polls_ns"), 0.0)
            around[f"{prefix}{name}"] = np.divide(
                around[f"{prefix}{name}"], shared, out=np.zeros(len(around)), where=shared > 0
            )
    around = around.drop(columns=["shared", "line"]).groupby(_OWNER).sum()
    lines = lines.groupby(["cpu", "device"])[["irqs", "irq_ns"]].sum().reset_index()
    sizes = told["sizes"].set_index([*_OWNER, "work"]).sort_index()
    seen = told["seen"].set_index(_OWNER)["polls"].sort_index()
    stretches = Stretches(told["stretches"], seen, int(told["power"]["power"].iloc[0]))
    return Gathered(sizes, stretches, around, lines)


def work_is_known(work: Gathered) -> bool:
    # Before Linux 4.8 napi_poll has none.
    return bool((work.sizes.index.get_level_values("work") != NO_WORK).any())
