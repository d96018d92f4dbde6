"""How much of a timeline was recorded, and how much of that has a known owner."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .units import share

# A larger share of CPU time without a known owner is said first.
WORTH_SAYING_FIRST = 0.05


def joined(gaps: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches of time from start to end, in order, those that overlap or touch as one.

    In plain Python, so that one share does not take loading numpy.
    """
    whole: list[tuple[int, int]] = []
    for start, end in sorted(gaps):
        if whole and start <= whole[-1][1]:
            start, end = whole[-1][0], max(end, whole.pop()[1])
        whole.append((start, end))
    return whole


def lost_of_cpus(
    cpus: list[int], gaps: Sequence[Mapping[Any, Any]], window: tuple[int, int]
) -> dict[int, int]:
    """Time without record by CPU, ns; gaps of one CPU that overlap count once.

    gaps: of Capture.info, with cpu, start_ns, end_ns.
    """
    of_cpu: dict[int, list[tuple[int, int]]] = {cpu: [] for cpu in cpus}
    for gap in gaps:
        if gap["cpu"] in of_cpu:
            here = max(gap["start_ns"], window[0]), min(gap["end_ns"], window[1])
            of_cpu[gap["cpu"]].append(here)
    return {
        cpu: sum(max(0, end - start) for start, end in joined(some)) for cpu, some in of_cpu.items()
    }


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
