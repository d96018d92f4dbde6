"""How much of a timeline is known: the share that was recorded, and of it that with an owner."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .units import share

if TYPE_CHECKING:
    import pandas as pd

    from .timeline.timeline import Timeline

# More of CPU time without a known owner than this is what a reader has to know first.
WORTH_SAYING_FIRST = 0.05


def lost_of_cpus(
    cpus: list[int], gaps: Sequence[Mapping[Any, Any]], window: tuple[int, int]
) -> dict[int, int]:
    """Time without record by CPU, ns; gaps of one CPU that overlap count once.

    gaps: of Capture.info, with cpu, start_ns, end_ns.
    """
    lost, known_until = dict.fromkeys(cpus, 0), dict.fromkeys(cpus, window[0])
    for gap in sorted(gaps, key=lambda gap: int(gap["start_ns"])):
        cpu, until = gap["cpu"], min(gap["end_ns"], window[1])
        if cpu in lost:
            lost[cpu] += max(0, until - max(gap["start_ns"], known_until[cpu]))
            known_until[cpu] = max(known_until[cpu], until)
    return lost


def lost_in(timeline: "Timeline", cpus: list[int], gaps: "pd.DataFrame") -> int:
    """Time without record of these CPUs in all, ns. gaps: of Timeline.coverage."""
    window = int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"])
    return sum(lost_of_cpus(cpus, gaps.to_dict("records"), window).values())


def recorded_share(
    cpus: list[int], gaps: list[dict[str, Any]], window: tuple[int, int]
) -> float | None:
    """The share of the CPUs' window outside gaps, 0 to 1; None for an empty window."""
    whole = len(cpus) * (window[1] - window[0])
    return (
        max(0.0, 1 - sum(lost_of_cpus(cpus, gaps, window).values()) / whole) if whole > 0 else None
    )


def coverage_words(recorded: float | None, owned: float | None) -> str:
    """The first two in words: "100 % recorded, 99.4 % of that with a known owner"."""
    parts = (share(recorded) or "an unknown part", share(owned) or "an unknown part")
    return f"{parts[0]} recorded, {parts[1]} of that with a known owner"
