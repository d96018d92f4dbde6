# What polls_sizes counts, of polls that are written down: by device, CPU, budget and packets.

import pandas as pd

from netcost_analysis.timeline.owners import NO_DEVICE

KEYS = ["device", "cpu", "budget", "work"]


def counted(polls: pd.DataFrame) -> pd.DataFrame:
    rows = polls.assign(device=polls["device"].astype(object).fillna(NO_DEVICE))
    groups = rows.groupby(KEYS, dropna=False)
    return pd.DataFrame(
        {
            "polls": groups.size(),
            "packets": groups["work"].sum().astype("Int64"),
            "ns": groups["self_ns"].sum().astype("int64"),
            "without_begin": groups["start_ns"].agg(lambda start: start.isna().sum()),
        }
    )
