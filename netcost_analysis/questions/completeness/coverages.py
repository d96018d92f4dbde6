"""How much of a timeline is known: three coverages, recorded, owned and timed. Never one word."""

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..._native import CaptureError
from ...answers.question import question
from ...coverage import lost_of_cpus
from ...timeline.aggregates import Grouped, in_window

if TYPE_CHECKING:
    import pandas as pd

    from ...answers.answer import Answer
    from ...timeline.timeline import Timeline


@dataclass(frozen=True)
class Coverages:
    """How much of a timeline is known: three shares, 0 to 1, None where there is nothing to share.

    Attributes
    ----------
    recorded_share : float or None
        Of the CPUs' window, what is without loss.
    owned_share : float or None
        Of what was recorded, what has a known owner.
    timed_share : float or None
        Of the packets of polls, those of polls whose time is known; None also without polls.
    of_cpus : pandas.DataFrame
        A row per CPU (index cpu): window_ns, lost_ns, unowned_ns (int64; the last holds the one
        before), packets, timed_packets (Int64, NA without polls).
    """

    recorded_share: float | None
    owned_share: float | None
    timed_share: float | None
    of_cpus: "pd.DataFrame"


_POLLS = Grouped(
    "polls",
    by=("cpu", "is_timed"),
    sums=("work",),
    known=("work",),
    where=in_window("end_ns"),
)


@question(inputs=(_POLLS,))
def coverages(timeline: "Timeline") -> Coverages:
    """How much of the timeline was recorded, has a known owner, and how many packets were timed.

    recorded_share, owned_share, timed_share (0 to 1), of_cpus.

    Source: the losses of Capture.info, the timeline's sums, its polls. Gaps that overlap count
    once.
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
    frame["unowned_ns"] = unknown.reindex(cpus, fill_value=0).astype("int64")
    polls = _POLLS(timeline).frame.copy()
    polls["timed_packets"] = polls["packets"] * polls["is_timed"]
    counts = polls.groupby("cpu")[["packets", "timed_packets"]].sum().reindex(cpus, fill_value=0)
    known = bool(polls["work_known"].any())
    packets = counts.astype("Int64")
    frame = frame.join(packets if known else packets.mask(packets.notna()))
    polled = int(frame["packets"].sum()) if known else 0
    timed = int(frame["timed_packets"].sum()) / polled if polled else None
    return Coverages(timeline.recorded, timeline.owned, timed, frame)


def of_answer(answer: "Answer") -> Coverages | None:
    """How much was recorded, has an owner and was timed; None where no timeline was asked.

    None of a timeline without a ledger as well.
    """
    with suppress(CaptureError):
        return coverages(answer.sources["Timeline"]) if "Timeline" in answer.sources else None
    return None
