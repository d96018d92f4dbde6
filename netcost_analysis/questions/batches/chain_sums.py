# What all NET_RX did.

from dataclasses import dataclass

import numpy as np
import pandas as pd

PARTS = ("irq_ns", "raise_delay_ns", "outside_polls_ns", "poll_ns", "nested_ns")


@dataclass(frozen=True)
class ChainSums:
    # by_device: by what was polled first, softirqs, packets, and of each of PARTS the sum and how
    # many it is known of. by_polls: by has_polls, whether there were polls (0, 1, -1 where not
    # recorded): softirqs, polls, packets, wall_ns, poll_ns, own_ns (polls and outside),
    # unnested_ns. counts: by what ("origin", "name" of the interrupt, "in_kthread", "raised") and
    # which, n.
    by_device: pd.DataFrame
    by_polls: pd.DataFrame
    counts: pd.DataFrame

    def count(self, what: str) -> dict[str, int]:
        # The most frequent first, of the same in order of their names.
        own = self.counts[self.counts["what"] == what].set_index("which")["n"]
        return dict(own.sort_index().sort_values(ascending=False, kind="stable"))


def mean_parts(by_device: pd.DataFrame) -> pd.DataFrame:
    # A row per device that chains polled first, most chains first, and one for those without a
    # poll: device, softirqs, packets, and the mean of each part in ns, of the chains whose part is
    # known (0 where it is of none).
    by_device = by_device.set_index("device").sort_index()
    table = by_device[["softirqs", "packets"]].astype({"packets": "float64"})
    for name in PARTS:
        known = by_device[f"{name}_known"].to_numpy(dtype="float64")
        sums = by_device[name].to_numpy(dtype="float64")
        table[name] = np.divide(sums, known, out=np.zeros(len(known)), where=known > 0)
    return table.sort_values("softirqs", ascending=False, kind="stable").reset_index()
