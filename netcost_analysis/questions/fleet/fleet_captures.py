# What a fleet is made of.

from ...answers.answer import Answer
from ...answers.question import question
from ...fleet import Fleet
from .capture_costs import command_for, shown_time

_RENAMED = {"events": "event_count", "bytes": "file_bytes", "sha256": "checksum"}
_COLUMNS = [
    *("path", "hostname", "kernel", "recorded_at", "recorded_by", "duration_ns", "event_count"),
    *("file_bytes", "lost_events", "state", "error_kind", "netcost", "checksum", "took_ns"),
]


@question(
    topic="fleet",
    rows=0,
    columns=("path", "hostname", "kernel", "recorded_at", "event_count", "state"),
)
def fleet_captures(fleet: Fleet) -> Answer:
    """Which captures there are: of which hosts, kernels and times, and how much is in them.

    A row per capture, including those that could not be read. Source: the fleet's captures.
    """
    rows = fleet.captures.rename(columns=_RENAMED)
    frame = rows[_COLUMNS].assign(recorded_at=shown_time(rows["recorded_at"]))
    errors = frame["error_kind"].notna()
    frame["command"] = list(map(command_for, frame["path"], errors))
    times = frame["recorded_at"].dropna()
    in_all = {
        "captures": len(frame),
        "unreadable_captures": int(errors.sum()),
        "incomplete_captures": int((frame["state"] == "incomplete").sum()),
        "timed_by_file": int((frame["recorded_by"] == "file").sum()),
        "hosts": int(frame["hostname"].nunique()),
        "kernels": int(frame["kernel"].nunique()),
        "first_at": min(times, default=None),
        "last_at": max(times, default=None),
        **{name: int(frame[name].sum()) for name in ("event_count", "file_bytes", "duration_ns")},
    }
    return Answer(captures=frame, in_all=in_all)
