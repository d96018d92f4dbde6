"""The times of mpstat's intervals beside a recording."""

from typing import TYPE_CHECKING

import pandas as pd

from .._native import CaptureError
from ..parsers.sysstat import parse_mpstat

if TYPE_CHECKING:
    from ..capture.bundle import Bundle

# An interval counts as inside the run if at most this share of it sticks out at either end.
_TOLERANCE = 0.05


def intervals_within(bundle: "Bundle") -> pd.DataFrame:
    """The rows of mpstat_intervals on the victim's CPU and within its run, to a twentieth."""
    rows, victim = mpstat_intervals(bundle), bundle.victim
    start, end = (victim.start_ns, victim.end_ns) if victim else (None, None)
    if victim is None or start is None or end is None:
        return rows[:0]
    slack = _TOLERANCE * (rows["end_ns"] - rows["start_ns"])
    after = rows["start_ns"] >= start - slack
    return rows[(rows["cpu"] == victim.cpu) & after & (rows["end_ns"] <= end + slack)]


def mpstat_intervals(bundle: "Bundle") -> pd.DataFrame:
    """parse_mpstat() of the output recorded beside the trace, with start_ns and end_ns.

    mpstat prints times only to the second, so intervals are placed end to end from its start, which
    is more exact. Empty if the bundle has no mpstat output, or does not say when mpstat started.
    """
    mpstat = bundle.manifest.companion("mpstat")
    text = bundle.text(mpstat.output) if mpstat.output else None
    try:
        frame = parse_mpstat(text or "")
    except CaptureError:
        frame = parse_mpstat("")
    frame = frame[frame["interval"].notna()]
    if mpstat.start_ns is None:
        frame = frame[:0]
    step, begin = round(interval_s(bundle) * 1e9), mpstat.start_ns or 0
    order = frame["interval"].astype("int64")
    return frame.assign(start_ns=begin + order * step, end_ns=begin + (order + 1) * step)


def interval_s(bundle: "Bundle") -> float:
    words = (bundle.manifest.record_command or "").split()
    try:
        seconds = float(words[words.index("--interval") + 1])
    except (ValueError, IndexError):
        return 1.0
    return seconds if 0 < seconds < 1e6 else 1.0
