# Polls with their share of what surrounds them, summed over batches: what lines and prices follow
# from.

from typing import NamedTuple

import numpy as np
import pandas as pd

from ...timeline.aggregate import NO_DEVICE
from ..grouped import sums_by
from ..inputs import Window, added
from .common import int64, named_device, plain
from .pairing import Settled
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


class PollSums:
    # window: polls that it cuts are in no line.
    def __init__(self, window: Window) -> None:
        self._window = window
        self._sizes: pd.DataFrame | None = None
        self._around: pd.DataFrame | None = None
        self._lines: pd.DataFrame | None = None
        self._stretches = Stretches()

    def add(self, hardirqs: pd.DataFrame, polls: pd.DataFrame) -> None:
        # Rows of the tables as they come.
        rows = polls[["cpu", "device", "start_ns", "end_ns", "work", "self_ns"]]
        rows = rows.assign(device=named_device(rows["device"]))
        cut = (rows["start_ns"] < self._window.start_ns) | (rows["end_ns"] > self._window.end_ns)
        known = rows["self_ns"].notna() & rows["work"].notna()
        whole = known & ~cut.fillna(False).astype(bool)
        ns = int64(rows["self_ns"], 0)
        values = {
            "polls": np.ones_like(ns),
            "known": known.to_numpy().astype("int64"),
            "known_ns": np.where(known, ns, 0),
            "whole": whole.to_numpy().astype("int64"),
            "whole_ns": np.where(whole, ns, 0),
        }
        keys = rows[_OWNER].assign(work=int64(rows["work"], NO_WORK))
        self._sizes = added(self._sizes, sums_by(keys, values).sort_index())
        self._stretches.add(rows[whole & (rows["work"] > 0).fillna(False).astype(bool)])
        own = (hardirqs["context"] == "hardirq") & hardirqs["device"].notna()
        lines = plain(hardirqs.loc[own, ["cpu", "device", "irq", "self_ns"]])
        lines = lines.rename(columns={"self_ns": "irq_ns"}).assign(irqs=1)
        sums = lines.groupby(["cpu", "device", "irq"], dropna=False)[["irqs", "irq_ns"]].sum()
        self._lines = added(self._lines, sums)

    def take(self, told: Settled) -> None:
        # Softirqs that are settled, and their polls.
        chains = told.chains[["cpu", "ordinal", "polls", "outside_polls_ns"]].assign(
            shared=told.chains["polls"],
            irq_ns=told.chains["irq_ns"],
            # A line's own interrupts are counted whole, whether they raised anything or not.
            line=told.chains["irq"].where(told.chains["irq_context"] == "hardirq"),
        )
        rows = told.polled.merge(chains.drop(columns="polls"), on=["cpu", "ordinal"], how="left")
        rows["device"] = rows["device"].fillna(NO_DEVICE)
        raised = rows["irq_ns"].notna().astype("int64")
        table = rows[_OWNER].assign(
            shared=int64(rows["shared"], 0),
            line=int64(rows["line"]),
            again=rows["known"] - rows["last_known"],
        )
        for prefix, polls in (("", rows["polls"]), ("known_", rows["known"])):
            table[f"{prefix}outside_polls_ns"] = polls * int64(rows["outside_polls_ns"], 0)
            table[f"{prefix}irq_ns"] = polls * int64(rows["irq_ns"], 0)
            table[f"{prefix}raised"] = polls * raised
        self._around = added(self._around, table.groupby([*_OWNER, "shared", "line"]).sum())

    def gathered(self) -> Gathered:
        assert self._sizes is not None
        assert self._around is not None
        assert self._lines is not None
        lines = self._lines.reset_index()
        around = self._around.reset_index()
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
        return Gathered(self._sizes, self._stretches, around, lines)


def work_is_known(work: Gathered) -> bool:
    # Before Linux 4.8 napi_poll has none.
    return bool((work.sizes.index.get_level_values("work") != NO_WORK).any())
