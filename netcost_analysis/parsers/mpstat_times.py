"""When each interval was that mpstat wrote of beside a recording."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from .._native import CaptureError
from .mpstat import parse_mpstat

if TYPE_CHECKING:
    from ..capture.bundle import Bundle

# An interval lies in the run where no more than this part of it sticks out.
_TOLERANCE = 0.05


def intervals_within(bundle: "Bundle") -> pd.DataFrame:
    """Of mpstat_intervals those of the victim's CPU that lie within its run, to a twentieth."""
    found, victim = mpstat_intervals(bundle), bundle.victim or {}
    start, end, cpu = (victim.get(key) for key in ("start_ns", "end_ns", "cpu"))
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(cpu, int)):
        return found[:0]
    slack = _TOLERANCE * (found["end_ns"] - found["start_ns"])
    after = found["start_ns"] >= start - slack
    return found[(found["cpu"] == cpu) & after & (found["end_ns"] <= end + slack)]


def mpstat_intervals(bundle: "Bundle") -> pd.DataFrame:
    """What mpstat said beside the recording (as parse_mpstat), with start_ns and end_ns of each.

    mpstat says to the second when an interval ended; that they follow one another from its start
    on is more exact. Empty where the bundle has none, or does not say when it started.
    """
    companions = bundle.manifest.get("companions")
    companion: dict[str, Any] = {}
    for one in companions if isinstance(companions, list) else ():
        if isinstance(one, dict) and one.get("name") == "mpstat":
            companion = one
    start, name = companion.get("start_ns"), companion.get("output")
    text = bundle.text(name) if isinstance(name, str) and name else None
    try:
        frame = parse_mpstat(text or "")
    except CaptureError:
        frame = parse_mpstat("")
    frame = frame[frame["interval"].notna()]
    if not isinstance(start, int):
        frame = frame[:0]
    step = round(_interval_s(bundle) * 1e9)
    order = frame["interval"].astype("int64")
    begin = start if isinstance(start, int) else 0
    return frame.assign(start_ns=begin + order * step, end_ns=begin + (order + 1) * step)


def _interval_s(bundle: "Bundle") -> float:
    words = str(bundle.manifest.get("record_command", "")).split()
    try:
        seconds = float(words[words.index("--interval") + 1])
    except (ValueError, IndexError):
        return 1.0
    return seconds if 0 < seconds < 1e6 else 1.0
