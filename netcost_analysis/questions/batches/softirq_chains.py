# Irq -> softirq -> polls, a row for each NET_RX.

from typing import TYPE_CHECKING

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...timeline.timeline import Timeline
from .paired import INPUTS, numbered, paired

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TIMES = ("irq_ns", "raise_delay_ns", "outside_polls_ns", "poll_ns", "nested_ns")


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    inputs=INPUTS,
    columns=("cpu", "entry_ns", "wall_ns", "packets", "device", "comm", "raise_delay_ns"),
    rows=5,
)
def softirq_chains(timeline: Timeline) -> Answer:
    """Each NET_RX softirq: what raised it, how long it waited, what it polled, where its time went.

    A row per NET_RX that was seen from entry to exit, by CPU and time; of more than 200,000 those
    that began first. NA: polls, packets and device where napi_poll was not recorded; irq and its
    columns where no interrupt is known to have raised it; poll_ns, outside_polls_ns and nested_ns
    where the window holds a part of it only. The other tables are of all.

    Source: softirqs, hardirqs, polls and coverage. Definitions: docs/definitions.md.
    """
    tables = paired(timeline)
    in_kthread = _counts(tables, "in_kthread").set_index("in_kthread")["softirqs"]
    raised = _counts(tables, "raised").set_index("raised")["softirqs"]
    number, threaded = int(in_kthread.sum()), int(in_kthread.get("yes", 0))
    return Answer(
        numbered(tables, "chains"),
        in_all={
            "softirqs": number,
            "in_kthread": threaded,
            "in_kthread_share": threaded / number if number else None,
            "raises_known": int(raised.get("yes", 0)),
        },
        by_device=_by_device(tables["by_device"]),
        by_origin=_counts(tables, "origin"),
        by_interrupt=_counts(tables, "name"),
    )


def _counts(tables: dict[str, pd.DataFrame], what: str) -> pd.DataFrame:
    # The most frequent first, of the same in order of their names.
    counts = tables["counts"]
    counts = counts[counts["what"] == what].sort_values("which")
    counts = counts.sort_values("n", ascending=False, kind="stable", ignore_index=True)
    return counts.rename(columns={"which": what, "n": "softirqs"})[[what, "softirqs"]]


def _by_device(sums: pd.DataFrame) -> pd.DataFrame:
    # A row per device that chains polled first, most chains first, and one for those without a
    # poll. The mean of each time is of the chains of which it is known, and 0 where of none.
    table = sums.set_index("device").sort_index()
    for name in _TIMES:
        known = table[f"{name}_known"]
        table[name] = (table[name] / known).where(known > 0, 0.0)
    table = table.sort_values("softirqs", ascending=False, kind="stable").reset_index()
    return table[["device", "softirqs", "packets", *_TIMES]]


@softirq_chains.plot(
    title="Where the time of a NET_RX goes, by device",
    height=lambda answer: 1.3 + 0.42 * len(answer["by_device"]),
    panels=lambda answer: [{}] if len(answer.frame) else [],
)
def _anatomy(ax: "Axes", answer: Answer) -> None:
    from ...plots.softirqs import anatomy

    anatomy(ax, answer["by_device"])
