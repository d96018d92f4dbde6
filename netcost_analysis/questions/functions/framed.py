# Rows as frames.

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

SHARES = ("busy_share", "busy_share_low", "busy_share_high")
_KINDS = {"samples": "int64", "weight": "int64", **dict.fromkeys(SHARES, "float64")}


def framed(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    # Columns and their types, rows or none.
    frame = pd.DataFrame(list(rows), columns=list(columns))
    return frame.astype({name: kind for name, kind in _KINDS.items() if name in frame})
