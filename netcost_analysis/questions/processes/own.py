# How much of what was stolen from a victim worked on the victim's own traffic.

from typing import TYPE_CHECKING

import pandas as pd

from ...timeline.by import By, victim_keys
from .traffic import traffic

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline

# What names an owner for certain enough; whom a softirq woke may be whom it had no packet for.
_WITNESSES = ("socket", "packet")
_STOLEN = ("stolen", "stolen_or_synchronous")


def own_stolen(timeline: "Timeline", by: By) -> pd.DataFrame:
    # What stolen network softirqs did for the very victim that they ran on top of. by: as for
    # stolen(). Returns own_ns and own_max_ns (int64) by victim: of class stolen the parts whose
    # owner, by its socket or its packet, is the task or one of the same command; and with those
    # that have no such owner, and what of class stolen_or_synchronous is not another's. Source:
    # traffic().
    parts = traffic(timeline).by_class.reset_index()
    parts = parts[parts["cost_class"].isin(_STOLEN) & (parts["tid"] != 0).fillna(False)]
    own = (parts["owner_tid"] == parts["tid"]).fillna(False).astype(bool)
    if by in ("comm", "device"):
        own |= parts["owner_comm"] == parts["comm"]
    known = parts["owner_known_by"].isin(_WITNESSES)
    surely = known & own & (parts["cost_class"] == "stolen")
    keys = victim_keys(by)
    ns = {"own_ns": parts["ns"].where(surely, 0), "own_max_ns": parts["ns"].where(own | ~known, 0)}
    return parts[keys].assign(**ns).groupby(keys, dropna=False)[list(ns)].sum().astype("int64")
