# Selects events by window and CPU.

from math import isfinite
from typing import TYPE_CHECKING, Any

from .._native import CaptureError
from ..errors import AbsentError, ArgumentError
from ..units import duration, not_recorded

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    import pandas as pd

    from .recording import Recording

_LAST_NS = 2**63 - 1


def require_window(recording: "Recording", start_s: float | None, end_s: float | None) -> None:
    """Raise for an invalid window, or one before or after the recording."""
    if not all(isfinite(at) for at in (start_s, end_s) if at is not None):
        raise ArgumentError(f"a window needs seconds: start_s is {start_s}, end_s is {end_s}")
    if start_s is not None and end_s is not None and end_s <= start_s:
        raise ArgumentError(f"the window ends at {end_s} s, at or before its start at {start_s} s")
    if start_s is None and end_s is None:
        return
    # Raises if the clock does not count time.
    _ = recording.start_ns
    length_ns = recording.info["duration_ns"] or 0
    if start_s is not None and start_s * 1e9 > length_ns:
        raise CaptureError(
            f"the window begins at {start_s:g} s, but the capture lasts {duration(length_ns)}: "
            "choose an earlier start"
        )
    if end_s is not None and end_s < 0:
        raise CaptureError(
            f"the window ends at {end_s:g} s: seconds count from the capture's start"
        )


def within_ns(
    capture: "Recording", start_s: float | None, end_s: float | None
) -> tuple[int, int] | None:
    # The window in ns, 2 ns wider at each end so that rounding loses no event; None without one.
    # Raises for the same windows as a timeline.
    require_window(capture, start_s, end_s)
    if start_s is None and end_s is None:
        return None
    origin = capture.start_ns
    start = -_LAST_NS if start_s is None else origin + int(start_s * 1e9) - 2
    end = _LAST_NS if end_s is None else origin + int(end_s * 1e9) + 2
    return max(start, -_LAST_NS), min(end, _LAST_NS)


def require_cpus(capture: "Recording", cpus: "Sequence[int] | None") -> None:
    # Raises AbsentError for a CPU that was not recorded.
    for cpu in set(cpus or ()).difference(capture.info["cpus"] if cpus else ()):
        raise AbsentError(not_recorded(cpu, capture.info["cpus"]))


def within_times(
    columns: "Mapping[str, Sequence[Any]]",
    capture: "Recording",
    start_s: float | None,
    end_s: float | None,
    cpus: "Sequence[int] | None",
) -> "Sequence[bool]":
    """Which rows of plain columns within() would keep, without pandas."""
    of_cpu = _cpu_column(columns) if cpus else None
    if start_s is None and end_s is None:
        inside = [True] * len(next(iter(columns.values()), ()))
    else:
        origin, times = capture.start_ns, columns[_time_column(columns)]
        inside = [at is not None and _holds((at - origin) / 1e9, start_s, end_s) for at in times]
    if of_cpu is None or cpus is None:
        return inside
    return [kept and cpu in cpus for kept, cpu in zip(inside, columns[of_cpu], strict=True)]


def _holds(at_s: float, start_s: float | None, end_s: float | None) -> bool:
    return (start_s is None or at_s >= start_s) and (end_s is None or at_s < end_s)


def _cpu_column(columns: "Container[str]") -> str:
    # A tracepoint may have a field named cpu.
    column = "common_cpu" if "common_cpu" in columns else "cpu"
    if column not in columns:
        raise CaptureError("these events have no CPU number")
    return column


def _time_column(columns: "Container[str]") -> str:
    if "time_ns" not in columns:
        raise CaptureError("these events have no times in seconds: leave out --start and --end")
    return "time_ns"


def within(
    frame: "pd.DataFrame",
    capture: "Recording",
    start_s: float | None,
    end_s: float | None,
    cpus: "Sequence[int] | None",
) -> "pd.DataFrame":
    # The rows of events or samples on these CPUs, from start_s until just before end_s.
    if cpus:
        frame = frame[frame[_cpu_column(frame)].isin(cpus)]
    if start_s is None and end_s is None:
        return frame
    times = (frame[_time_column(frame)] - capture.start_ns) / 1e9
    kept = times.notna()
    if start_s is not None:
        kept &= times >= start_s
    if end_s is not None:
        kept &= times < end_s
    return frame[kept]
