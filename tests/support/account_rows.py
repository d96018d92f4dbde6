# The accounts of a bundle's victim, as rows.

from pathlib import Path
from typing import Any

import pandas as pd

import netcost_analysis as netcost
from netcost_analysis.questions.accounting import accounts as accounts_of


def accounts(folder: Path, **given: float) -> pd.DataFrame:
    return accounts_of(netcost.open_capture(folder), **given).frame  # type: ignore[arg-type]


def rows(frame: pd.DataFrame) -> dict[Any, dict[str, Any]]:
    return frame.to_dict("index")  # type: ignore[return-value]


def got(table: pd.DataFrame) -> dict[str, float]:
    # System time says what was lost, and nothing of what was had.
    had = table["got_share"].drop(index="system")
    return {str(name): float(value) for name, value in had.items()}
