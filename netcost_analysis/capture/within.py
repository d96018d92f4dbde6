# Events within a window and of some CPUs.

from math import isfinite
from typing import TYPE_CHECKING

from .._native import CaptureError
from ..errors import AbsentError, ArgumentError
from ..units import duration, not_recorded

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from .recording import Recording

_LAST_NS = 2**63 - 1


def require_window(recording: "Recording", start_s: float | None, end_s: float | None) -> None:
    """Raises for a window that is none, or lies before or after the recording."""
    if not all(isfinite(at) for at in (start_s, end_s) if at is not None):
        raise ArgumentError(f"a window is in seconds: start_s is {start_s}, end_s is {end_s}")
    if start_s is not None and end_s is not None and end_s <= start_s:
        raise ArgumentError(f"the window ends at {end_s} s, at or before its start at {start_s} s")
    if start_s is None and end_s is None:
        return
    # Raises where the clock counts no seconds.
    _ = recording.start_ns
    length_ns = recording.info["duration_ns"] or 0
    if start_s is not None and start_s * 1e9 > length_ns:
        raise CaptureError(
            f"the window begins at {start_s:g} s, and the capture is over after "
            f"{duration(length_ns)}"
        )
    if end_s is not None and end_s < 0:
        raise CaptureError(
            f"the window ends at {end_s:g} s: seconds count from the capture's start"
        )


def within_ns(
    capture: "Recording", start_s: float | None, end_s: float | None
) -> tuple[int, int] | None:
    # A window that holds the one given, and at its ends a little more; None for none. It is the one
    # that a timeline takes, and is refused for the same reasons.
    require_window(capture, start_s, end_s)
    if start_s is None and end_s is None:
        return None
    origin = capture.start_ns
    start = -_LAST_NS if start_s is None else origin + int(start_s * 1e9) - 2
    end = _LAST_NS if end_s is None else origin + int(end_s * 1e9) + 2
    return max(start, -_LAST_NS), min(end, _LAST_NS)


def require_cpus(capture: "Recording", cpus: "Sequence[int] | None") -> None:
    # Raises AbsentError for one that was not recorded.
    for cpu in set(cpus or ()).difference(capture.info["cpus"] if cpus else ()):
        raise AbsentError(not_recorded(cpu, capture.info["cpus"]))


def within(
    frame: "pd.DataFrame",
    capture: "Recording",
    start_s: float | None,
    end_s: float | None,
    cpus: "Sequence[int] | None",
) -> "pd.DataFrame":
    # The rows of events or samples from start_s until before end_s, of these CPUs.
    if cpus:
        # A tracepoint may have a field of its own that is called cpu.
        column = "common_cpu" if "common_cpu" in frame else "cpu"
        if column not in frame:
            raise CaptureError("these events do not say on which CPU they happened")
        frame = frame[frame[column].isin(cpus)]
    if start_s is None and end_s is None:
        return frame
    if "time_ns" not in frame:
        raise CaptureError("these events have no times in seconds: leave out --start and --end")
    times = (frame["time_ns"] - capture.start_ns) / 1e9
    kept = times.notna()
    if start_s is not None:
        kept &= times >= start_s
    if end_s is not None:
        kept &= times < end_s
    return frame[kept]
