# Captures that have no answers, and why.

from ...answers.answer import Answer
from ...answers.question import question
from ...fleet import Fleet
from .capture_costs import command_for


@question(topic="fleet", rows=40, columns=("path", "error_kind", "error", "command"))
def unreadable(fleet: Fleet) -> Answer:
    """Captures that could not be read, and why.

    A row per capture; its command shows the same error. Source: the fleet's captures.
    """
    rows = fleet.captures[fleet.captures["error_kind"].notna()]
    frame = rows[["path", "error_kind", "error"]].reset_index(drop=True)
    frame["command"] = [command_for(path, error=True) for path in frame["path"]]
    kinds = frame["error_kind"].value_counts().reset_index(name="captures")
    return Answer(frame, by_kind=kinds)
