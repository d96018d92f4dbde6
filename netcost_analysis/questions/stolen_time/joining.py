# Segments of windows that follow each other, put together again where the edge between two windows
# cut them.

from typing import Any

import pandas as pd

_OWNER = ["tid", "comm", "context", "id", "name", "napi", "cost_class", "depth"]


def joined(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    # What is left of one window and the segments of the next, each sorted by CPU and time: so is
    # the result.
    if not len(before):
        return after
    text = [name for name in after if isinstance(after[name].dtype, pd.CategoricalDtype)]
    rows = pd.concat([before.astype(dict.fromkeys(text, object)), after], ignore_index=True)
    rows = rows.sort_values(["cpu", "start_ns"], kind="stable", ignore_index=True)
    seam = (rows["cpu"] == rows["cpu"].shift()) & (rows["start_ns"] == rows["end_ns"].shift())
    # Within a window neighbours have different owners.
    places = rows.index[
        seam & rows["start_ns"].isin(after["start_ns"].groupby(after["cpu"]).first())
    ]
    cut = [place for place in places if _owner(rows, place) == _owner(rows, place - 1)]
    rows.loc[[place - 1 for place in cut], "end_ns"] = rows["end_ns"].loc[cut].to_numpy()
    return rows.drop(index=cut).reset_index(drop=True)


def _owner(rows: pd.DataFrame, place: int) -> list[object]:
    values: list[Any] = list(rows.loc[place, _OWNER])
    return [None if pd.isna(value) else value for value in values]
