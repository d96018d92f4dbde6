# What a fleet is made of.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...answers.question import question
from ...fleet.fleet import Fleet
from .measured import command_for, shown_time

if TYPE_CHECKING:
    from ...answers.answer import Answer

_RENAMED = {"events": "event_count", "bytes": "file_bytes", "sha256": "checksum"}
_COLUMNS = [
    *("path", "hostname", "kernel", "recorded_at", "recorded_by", "duration_ns", "event_count"),
    *("file_bytes", "lost_events", "state", "error_kind", "netcost", "checksum", "took_ns"),
]


class FleetCaptures(NamedTuple):
    """Answer of `fleet_captures`.

    Attributes
    ----------
    captures : pandas.DataFrame
        A row per capture.
    in_all : dict
        How many captures, hosts and kernels, and of what times.
    """

    captures: pd.DataFrame
    in_all: dict[str, Any]


@question(
    topic="fleet",
    main="captures",
    rows=0,
    columns=("path", "hostname", "kernel", "recorded_at", "event_count", "state"),
)
def fleet_captures(fleet: Fleet) -> FleetCaptures:
    """Which captures there are: of which hosts, kernels and times, and how much is in them.

    captures: path, hostname, kernel, recorded_at, recorded_by, duration_ns, event_count,
    file_bytes, lost_events, state, error_kind (null where it could be read), netcost, checksum,
    took_ns, command. in_all: sums over them.

    Source: the fleet's captures.
    """
    rows = fleet.captures.rename(columns=_RENAMED)
    times = rows["recorded_at"]
    frame = rows[_COLUMNS].assign(recorded_at=shown_time(times))
    errors = frame["error_kind"].notna()
    frame["command"] = [
        command_for(str(path), error) for path, error in zip(frame["path"], errors, strict=True)
    ]
    known = shown_time(times.dropna().sort_values())
    return FleetCaptures(
        frame,
        {
            "captures": len(frame),
            "unreadable_captures": int(errors.sum()),
            "incomplete_captures": int((frame["state"] == "incomplete").sum()),
            "timed_by_file": int((frame["recorded_by"] == "file").sum()),
            "hosts": int(frame["hostname"].nunique()),
            "kernels": int(frame["kernel"].nunique()),
            "first_at": known.iloc[0] if len(known) else None,
            "last_at": known.iloc[-1] if len(known) else None,
            "event_count": int(frame["event_count"].sum()),
            "file_bytes": int(frame["file_bytes"].sum()),
            "duration_ns": int(frame["duration_ns"].sum()),
        },
    )


@fleet_captures.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    totals: dict[str, Any] = answer.result.in_all
    return totals
