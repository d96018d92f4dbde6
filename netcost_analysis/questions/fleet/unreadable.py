# Captures that have no answers, and why.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...fleet.fleet import Fleet
from .measured import command_for

if TYPE_CHECKING:
    from ...answers.answer import Answer


@question(topic="fleet", rows=40, columns=("path", "error_kind", "error", "command"))
def unreadable(fleet: Fleet) -> pd.DataFrame:
    """Captures that could not be read, and why.

    A row per capture: path, error_kind, error, command (which shows the same).

    Source: the fleet's captures.
    """
    rows = fleet.captures[fleet.captures["error_kind"].notna()]
    frame = rows[["path", "error_kind", "error"]].reset_index(drop=True)
    return frame.assign(command=[command_for(str(path), True) for path in frame["path"]])


@unreadable.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    kinds = answer.frame["error_kind"].value_counts()
    rows = {"error_kind": list(kinds.index), "captures": kinds.to_numpy()}
    return {"by_kind": pd.DataFrame(rows)}


@unreadable.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return {"kinds": answer.tables["by_kind"].to_dict("records")}
