# The captures of a fleet: what each cost, with its busiest device, by which questions of a fleet
# go; which there are; and which have no answers.

import shlex
from typing import Any

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...errors import LackingError
from ...fleet import Fleet
from ...timeline.reading import once
from ...units import printable

# What captures are told apart by.
COLUMNS = {"host": "hostname", "kernel": "kernel", "device": "device", "driver": "driver"}
_OF_CAPTURE = ["hostname", "kernel", "recorded_at", "namespace"]
# Letters of a name in a picture.
LONGEST = 34
# What stands for a name that nobody recorded.
UNKNOWN = "(unknown)"


def require_answers(fleet: Fleet) -> None:
    # Raises LackingError where no capture could be read.
    if not len(fleet.answers):
        raise LackingError("captures", f"{fleet.path} has no capture that could be read")


@once
def capture_costs(fleet: Fleet) -> pd.DataFrame:
    # The columns of answers, those of the device with most packets, and ratios of them, NaN where
    # unknown. A capture without any packet has no device.
    some = fleet.devices[(fleet.devices["packets"] > 0).fillna(False).astype(bool)]
    busiest = some.sort_values(["path", "packets", "device"], ascending=[True, False, True])
    busiest = busiest.drop_duplicates("path").drop(columns=_OF_CAPTURE)
    rows = fleet.answers.merge(fleet.captures[["path", "duration_ns"]], on="path")
    rows = rows.merge(busiest, on="path", how="left")
    for name in COLUMNS.values():
        rows[name] = rows[name].astype(object).where(rows[name].notna(), UNKNOWN)
    return ratios(rows)


def ratios(rows: pd.DataFrame) -> pd.DataFrame:
    # Rows of sums, of a capture or of several, with the ratios of these.
    def over(above: "pd.Series[Any]", below: "pd.Series[Any]") -> "pd.Series[float]":
        parts = above.astype("Float64") / below.astype("Float64").mask(below.fillna(0) <= 0)
        return parts.astype("float64")

    whole_ns = rows["ns"] - rows["cut_poll_ns"].fillna(0)
    return rows.assign(
        ns_per_work=over(whole_ns, rows["timed_packets"]),
        interrupt_ns_per_work=over(rows["hardirq_ns"].fillna(0), rows["timed_packets"]),
        batch_mean=over(rows["packets"], rows["busy_polls"]),
        network_cpu_share=over(rows["network_cpu_ns"], rows["cpu_ns"]),
        stolen_of_tasks_share=over(rows["stolen_network_ns"], rows["on_cpu_ns"]),
        squeezed_share=over(rows["squeezes_low"], rows["with_polls"]),
        packets_per_s=over(rows["packets"], rows["duration_ns"]) * 1e9,
    )


SUMS = [
    *("ns", "cut_poll_ns", "timed_packets", "hardirq_ns", "packets", "busy_polls"),
    *("network_cpu_ns", "cpu_ns", "stolen_network_ns", "on_cpu_ns"),
    *("squeezes_low", "with_polls", "duration_ns"),
]


def shown_time(times: "pd.Series[Any]") -> "pd.Series[Any]":
    # None where unknown.
    texts = times.dt.strftime("%Y-%m-%dT%H:%M:%SZ").astype(object)
    shown: pd.Series[Any] = texts.where(times.notna(), None)
    return shown


def command_for(path: str, error: bool = False) -> str:
    # What opens a capture. A URL is opened from a copy.
    shown = printable(path)
    if "://" in path:
        return f"fsspec.open({shown!r})"
    return f"netcost {'info' if error else 'report'} {shlex.quote(shown)}"


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
    """The captures: their hosts, kernels and times, and how much each holds.

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
