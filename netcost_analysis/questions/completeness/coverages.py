"""How much of a timeline is known: three coverages, recorded, owned and timed. Never one word."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...coverage import lost_of_cpus
from ...timeline.aggregates import Grouped, in_window

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline

_POLLS = Grouped(
    "polls",
    by=("cpu", "is_timed"),
    sums=("work",),
    known=("work",),
    where=in_window("end_ns"),
)


@question(inputs=(_POLLS,))
def coverages(timeline: "Timeline") -> Answer:
    """How much of the timeline was recorded, has a known owner, and how many packets were timed.

    A share of nothing is None. Gaps that overlap count once. Source: the losses of Capture.info,
    the timeline's sums, its polls.
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
    frame["unowned_ns"] = unknown.reindex(cpus, fill_value=0)
    polls = _POLLS(timeline).frame.copy()
    polls["timed_packets"] = polls["packets"] * polls["is_timed"]
    counts = polls.groupby("cpu")[["packets", "timed_packets"]].sum().reindex(cpus, fill_value=0)
    known = bool(polls["work_known"].any())
    packets = counts.astype("Int64")
    frame = frame.join(packets if known else packets.mask(packets.notna()))
    polled = int(frame["packets"].sum()) if known else 0
    return Answer(
        recorded_share=timeline.recorded,
        owned_share=timeline.owned,
        timed_share=int(frame["timed_packets"].sum()) / polled if polled else None,
        of_cpus=frame,
    )


def of_answer(answer: Answer) -> dict[str, Any] | None:
    """coverages() of what an answer is of, by name; None where no timeline was asked.

    None of a timeline without a ledger as well.
    """
    with suppress(CaptureError):
        if "Timeline" in answer.sources:
            return coverages(answer.sources["Timeline"]).parts
    return None
