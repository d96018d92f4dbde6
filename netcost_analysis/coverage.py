"""How much of a timeline was recorded, and how much of that has a known owner."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .units import share

# The first sentence mentions a larger share of CPU time without a known owner.
WORTH_SAYING_FIRST = 0.05


def joined(gaps: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge overlapping or adjacent (start, end) stretches, sorted by start.

    In plain Python: a single share is not worth importing numpy.
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(gaps):
        if merged and start <= merged[-1][1]:
            start, end = merged[-1][0], max(end, merged.pop()[1])
        merged.append((start, end))
    return merged


def lost_of_cpus(
    cpus: list[int], gaps: Sequence[Mapping[Any, Any]], window: tuple[int, int]
) -> dict[int, int]:
    """Unrecorded time by CPU, ns; overlapping gaps of a CPU count once.

    gaps: rows of Capture.info["coverage"], with cpu, start_ns, end_ns.
    """
    of_cpu: dict[int, list[tuple[int, int]]] = {cpu: [] for cpu in cpus}
    for gap in gaps:
        if gap["cpu"] in of_cpu:
            here = max(gap["start_ns"], window[0]), min(gap["end_ns"], window[1])
            of_cpu[gap["cpu"]].append(here)
    return {
        cpu: sum(max(0, end - start) for start, end in joined(lost)) for cpu, lost in of_cpu.items()
    }


def recorded_share(
    cpus: list[int], gaps: list[dict[str, Any]], window: tuple[int, int]
) -> float | None:
    """The share of the CPUs' window outside gaps, 0 to 1; None for an empty window."""
    cpu_ns = len(cpus) * (window[1] - window[0])
    if cpu_ns <= 0:
        return None
    return max(0.0, 1 - sum(lost_of_cpus(cpus, gaps, window).values()) / cpu_ns)


def coverage_words(recorded: float | None, owned: float | None) -> str:
    """Both shares in words: "100 % recorded, 99.4 % of that with a known owner"."""
    parts = (share(recorded) or "an unknown part", share(owned) or "an unknown part")
    return f"{parts[0]} recorded, {parts[1]} of that with a known owner"
