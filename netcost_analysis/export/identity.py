"""What a dataset is of: the recording, its host, the window, and how much of it is known."""

from typing import TYPE_CHECKING, Any

from .._native import __version__
from ..capture.checksum import checksum

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline

_OF_CAPTURE = (
    *("format", "tool_version", "cmdline", "hostname", "kernel", "arch", "clock", "time_unit"),
    *("nr_cpus", "lost_events", "lost_unplaced", "lost_unknown"),
)
# Those that no further pass has to find out.
_FACTS = ("softirqs", "interrupts", "polls", "on_cpu")


def identity(timeline: "Timeline", ledger: bool) -> dict[str, Any]:
    """As JSON has it: recording, sha256, netcost, host, clock, window, CPUs, losses, notes.

    ledger: whether the timeline's own tables are wanted; else it is asked nothing that a recording
    without a ledger could not answer. Times are ns on the capture's clock.
    """
    capture = timeline.capture
    info = capture.info
    said = {
        "recording": capture.path,
        "buffer": capture.buffer,
        "sha256": checksum(capture),
        "netcost": __version__,
        **{name: info.get(name) for name in _OF_CAPTURE},
        "capture_start_ns": info["start_ns"],
        "capture_end_ns": info["end_ns"],
    }
    if not ledger:
        selection = timeline.selection if info["start_ns"] is not None else {}
        return {
            **said,
            "start_ns": selection.get("start_ns") or info["start_ns"],
            "end_ns": selection.get("end_ns") or info["end_ns"],
            "cpus": timeline.cpus or info["cpus"],
            "recorded": info["recorded"],
            "notes": info["notes"],
        }
    summary = timeline.summary
    return {
        **said,
        **{name: summary[name] for name in ("start_ns", "end_ns", "resolution_ns", "cpus")},
        "recorded": timeline.recorded,
        "owned": timeline.owned,
        "missing": {fact: why for fact in _FACTS if (why := timeline.missing[fact])},
        "notes": timeline.notes,
    }
