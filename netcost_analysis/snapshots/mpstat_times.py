"""When each interval was that mpstat wrote of beside a recording."""

from typing import TYPE_CHECKING

import pandas as pd

from .._native import CaptureError
from ..parsers.mpstat import parse_mpstat

if TYPE_CHECKING:
    from ..capture.bundle import Bundle

# An interval lies in the run where no more than this part of it sticks out.
_TOLERANCE = 0.05


def intervals_within(bundle: "Bundle") -> pd.DataFrame:
    """Of mpstat_intervals those of the victim's CPU that lie within its run, to a twentieth."""
    found, victim = mpstat_intervals(bundle), bundle.victim
    start, end = (victim.start_ns, victim.end_ns) if victim else (None, None)
    if victim is None or start is None or end is None:
        return found[:0]
    slack = _TOLERANCE * (found["end_ns"] - found["start_ns"])
    after = found["start_ns"] >= start - slack
    return found[(found["cpu"] == victim.cpu) & after & (found["end_ns"] <= end + slack)]


def mpstat_intervals(bundle: "Bundle") -> pd.DataFrame:
    """What mpstat said beside the recording (as parse_mpstat), with start_ns and end_ns of each.

    mpstat says to the second when an interval ended; that they follow one another from its start
    on is more exact. Empty where the bundle has none, or does not say when it started.
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
