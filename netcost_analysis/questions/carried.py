"""Rows that a batch leaves for the next: what questions that pair rows carry between batches."""

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals


def appended(rest: pd.DataFrame | None, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows that are left of batches before, and a batch's: by CPU, each in the order of its table.

    rest: None for none; of the same columns.
    """
    if rest is None or not len(rest):
        return rows.reset_index(drop=True)
    if not len(rows):
        return rest.reset_index(drop=True)
    # Each batch has the names that occur in it; as objects they would take many times as long.
    named = [name for name in rows if isinstance(rows[name].dtype, pd.CategoricalDtype)]
    columns = {
        name: union_categoricals([rest[name], rows[name]])
        if name in named
        else pd.concat([rest[name], rows[name]], ignore_index=True)
        for name in rows
    }
    both = pd.DataFrame(columns, copy=False)
    cpus = both["cpu"].to_numpy()
    if (cpus[1:] >= cpus[:-1]).all():
        return both
    return both.take(np.argsort(cpus, kind="stable")).reset_index(drop=True)
