# What all NET_RX did, summed over batches of softirq_chains()' rows.

import numpy as np
import pandas as pd

from ..grouped import sums_by
from ..inputs import added
from .common import int64

PARTS = ("irq_ns", "raise_delay_ns", "outside_polls_ns", "poll_ns", "nested_ns")


class ChainSums:
    # by_device: by what was polled first, softirqs, packets, and of each of PARTS the sum and how
    # many it is known of. by_polls: by whether there were polls (0, 1, -1 where not recorded):
    # softirqs, polls, packets, wall_ns, poll_ns, own_ns (polls and outside), unnested_ns. counts:
    # by what ("origin", "name" of the interrupt, "in_kthread", "raised") and which.
    def __init__(self) -> None:
        self.by_device: pd.DataFrame | None = None
        self.by_polls: pd.DataFrame | None = None
        self.counts: pd.DataFrame | None = None

    def add(self, chains: pd.DataFrame) -> None:
        self.by_device = added(self.by_device, _by_device(chains))
        has_polls = chains["polls"].gt(0).astype("Int64").fillna(-1).astype("int64")
        own_ns = chains["poll_ns"] + chains["outside_polls_ns"]
        table = chains[["polls", "packets", "wall_ns", "poll_ns"]].assign(
            softirqs=1, own_ns=own_ns, unnested_ns=chains["wall_ns"] - chains["nested_ns"]
        )
        table = table.astype("Int64").fillna(0).astype("int64")
        sums = table.groupby(has_polls.rename("has_polls")).sum()
        self.by_polls = added(self.by_polls, sums)
        parts = {
            "origin": _counts(chains["origin"]),
            "name": _counts(chains["name"]),
            "in_kthread": _yes_or_no(chains["in_kthread"]),
            "raised": _yes_or_no(chains["raise_ns"].notna()),
        }
        self.counts = added(self.counts, pd.concat(parts, names=["what", "which"]).to_frame("n"))

    def count(self, what: str) -> dict[str, int]:
        # The most frequent first, of the same in order of their names.
        assert self.counts is not None
        own = self.counts["n"]
        own = own[own.index.get_level_values("what") == what].droplevel("what")
        return dict(own.sort_index().sort_values(ascending=False, kind="stable"))


def _counts(values: "pd.Series[str]") -> "pd.Series[int]":
    return values.astype(object).value_counts(sort=False).astype("int64")


def _yes_or_no(flags: "pd.Series[bool]") -> "pd.Series[int]":
    yes = int(flags.sum())
    counts = pd.Series({"yes": yes, "no": len(flags) - yes}, dtype="int64")
    return counts[counts > 0]


def _by_device(chains: pd.DataFrame) -> pd.DataFrame:
    device = chains["device"].to_numpy(dtype=object, copy=True, na_value="not recorded")
    device[chains["polls"].eq(0).fillna(False).to_numpy(dtype=bool)] = "none polled"
    values = {"softirqs": np.ones(len(chains), "int64"), "packets": int64(chains["packets"], 0)}
    for name in PARTS:
        known = chains[name].notna().to_numpy()
        values[name] = int64(chains[name], 0)
        if name == "irq_ns":
            # What a task or another softirq raised had no interrupt.
            known = known | chains["origin"].isin(["task", "softirq"]).to_numpy()
        values[f"{name}_known"] = known.astype("int64")
    return sums_by(pd.DataFrame({"device": device}, dtype=object), values).sort_index()


def parts_of(chains: pd.DataFrame) -> pd.DataFrame:
    # Of softirq_chains()' rows what mean_parts() says.
    return mean_parts(_by_device(chains))


def mean_parts(by_device: pd.DataFrame) -> pd.DataFrame:
    # A row per device that chains polled first, most chains first, and one for those without a
    # poll: device, softirqs, packets, and the mean of each part in ns, of the chains whose part is
    # known (0 where it is of none).
    table = by_device[["softirqs", "packets"]].astype({"packets": "float64"})
    for name in PARTS:
        known = by_device[f"{name}_known"].to_numpy(dtype="float64")
        sums = by_device[name].to_numpy(dtype="float64")
        table[name] = np.divide(sums, known, out=np.zeros(len(known)), where=known > 0)
    return table.sort_values("softirqs", ascending=False, kind="stable").reset_index()
