# What all NET_RX did, summed over batches of softirq_chains()' rows.

import numpy as np
import pandas as pd

from ..inputs import added

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
        what = {
            "origin": chains["origin"],
            "name": chains["name"],
            "in_kthread": chains["in_kthread"].map({True: "yes", False: "no"}),
            "raised": chains["raise_ns"].notna().map({True: "yes", False: "no"}),
        }
        parts = {name: _counts(values) for name, values in what.items()}
        self.counts = added(self.counts, pd.concat(parts, names=["what", "which"]).to_frame("n"))

    def count(self, what: str) -> dict[str, int]:
        # The most frequent first, of the same in order of their names.
        assert self.counts is not None
        own = self.counts["n"]
        own = own[own.index.get_level_values("what") == what].droplevel("what")
        return dict(own.sort_index().sort_values(ascending=False, kind="stable"))


def _counts(values: "pd.Series[str]") -> "pd.Series[int]":
    return values.astype(object).value_counts(sort=False).astype("int64")


def _by_device(chains: pd.DataFrame) -> pd.DataFrame:
    device = chains["device"].astype(object)
    device = device.mask(chains["polls"].eq(0).fillna(False).astype(bool), "none polled")
    table = pd.DataFrame(
        {
            "device": device.where(device.notna(), "not recorded"),
            "softirqs": 1,
            "packets": chains["packets"].fillna(0).astype("int64"),
        }
    )
    # What a task or another softirq raised had no interrupt.
    own = chains["origin"].isin(["task", "softirq"]) & chains["irq_ns"].isna()
    for name in PARTS:
        values = chains[name].astype("Int64")
        if name == "irq_ns":
            values = values.mask(own.to_numpy(dtype=bool), 0)
        table[name] = values.fillna(0).astype("int64")
        table[f"{name}_known"] = values.notna().astype("int64")
    return table.groupby("device").sum()


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
