"""What ran, in the classes that tables and pictures tell apart."""

import pandas as pd

# The kinds of kinds_of that interrupts have, and what their time is called as a column.
KIND_COLUMNS = {
    "hardirq": "hardirq_ns",
    "vector": "vector_ns",
    "poll": "poll_ns",
    "softirq": "network_outside_polls_ns",
    "softirq_other": "other_softirq_ns",
    "nmi": "nmi_ns",
}


def kinds_of(rows: pd.DataFrame) -> "pd.Series[str]":
    """What ran in each row of segments or sums, in the classes that pictures tell apart.

    rows: with columns context and is_network. Returns the context, with "softirq_other" for a
    softirq that is no network's, or not for certain; same index.
    """
    context = rows["context"].astype(object)
    network = rows["is_network"].astype(object) == "yes"
    return context.where(~((context == "softirq") & ~network), "softirq_other")
