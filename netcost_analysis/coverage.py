"""How much of a timeline is known: three coverages, recorded, owned and timed. Never one word."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .units import share

if TYPE_CHECKING:
    import pandas as pd

    from .timeline.timeline import Timeline

# More of CPU time without a known owner than this is what a reader has to know first.
WORTH_SAYING_FIRST = 0.05


@dataclass(frozen=True)
class Coverages:
    """How much of a timeline is known.

    recorded_share: the share of the CPUs' window without loss. owned_share: of that, with a known
    owner. timed_share: of the packets of its polls, those of polls whose time is known. 0 to 1,
    None where there is nothing to be a share of (or, of the last, polls were not recorded).
    of_cpus: a row per CPU (index cpu): window_ns, lost_ns, unknown_ns (int64; the last holds the
    one before), packets, timed_packets (Int64, NA without polls).
    """

    recorded_share: float | None
    owned_share: float | None
    timed_share: float | None
    of_cpus: "pd.DataFrame"


def coverages(timeline: "Timeline") -> Coverages:
    """How much of the timeline was recorded, has a known owner, and how many packets were timed.

    Source: the losses of Capture.info, the timeline's sums, its polls.
    """
    import pandas as pd

    summary = timeline.summary
    cpus = [int(cpu) for cpu in summary["cpus"]]
    window = (int(summary["start_ns"]), int(summary["end_ns"]))
    lost = lost_of_cpus(cpus, timeline.capture.info["coverage"], window)
    frame = pd.DataFrame(index=pd.Index(cpus, name="cpu"))
    frame["window_ns"] = timeline.duration_ns
    frame["lost_ns"] = pd.Series(lost, dtype="int64").reindex(cpus, fill_value=0)
    sums = timeline.sums()
    unknown = sums[sums["context"] == "unknown"].groupby("cpu")["ns"].sum()
    frame["unknown_ns"] = unknown.reindex(cpus, fill_value=0).astype("int64")
    polls = timeline.polls
    known = bool(polls["work"].notna().any())
    work = polls["work"].fillna(0).astype("int64")
    for name, packets in (
        ("packets", work),
        ("timed_packets", work.where(polls["self_ns"].notna().to_numpy(dtype=bool), 0)),
    ):
        sums_ = packets.groupby(polls["cpu"]).sum().reindex(cpus, fill_value=0).astype("Int64")
        frame[name] = sums_ if known else pd.array([pd.NA] * len(cpus), dtype="Int64")
    polled = int(frame["packets"].sum()) if known else 0
    timed = int(frame["timed_packets"].sum()) / polled if polled else None
    return Coverages(timeline.recorded, timeline.owned, timed, frame)


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
