# Time from a softirq's raise to its entry.

import pandas as pd

from ...timeline.timeline import Timeline
from ..question import question
from .common import plain, spread_of


@question(
    needs=("irq:softirq_raise", "irq:softirq_entry", "irq:softirq_exit"),
    main_columns=(
        "action",
        "origin",
        "in_kthread",
        "softirqs",
        "median_ns",
        "p99_ns",
        "longest_ns",
    ),
)
def raise_delays(timeline: Timeline) -> pd.DataFrame:
    """Time from a softirq's first raise to its entry, by vector, origin and where it ran.

    Returns a row per action, origin and in_kthread: softirqs, raises_known (those whose raise was
    seen), clamped (those of them that stand at no distance, as a raise newer than the entry does:
    it is held at it), mean_ns, median_ns, p90_ns, p99_ns, longest_ns (Int64, of the delays, NA
    without any). Raises MissingEventsError without one of the events.
    """
    timeline.load("softirqs")
    return delays_from(timeline.softirqs)


def delays_from(softirqs: pd.DataFrame) -> pd.DataFrame:
    # raise_delays() of the softirqs table.
    rows = plain(softirqs[softirqs["entry_ns"].notna()])
    delay = (rows["entry_ns"] - rows["raise_ns"]).astype("Int64")
    rows["delay_ns"] = delay.clip(lower=0)
    rows["held"] = (delay <= 0).fillna(False).astype(bool)
    keys = ["action", "origin", "in_kthread"]
    groups = rows.groupby(keys, dropna=False)
    table = pd.DataFrame(
        {
            "softirqs": groups.size().astype("int64"),
            "raises_known": groups["delay_ns"].count().astype("int64"),
            "clamped": groups["held"].sum().astype("int64"),
        }
    ).join(spread_of(rows, keys, "delay_ns"))
    return table.sort_values("softirqs", ascending=False, kind="stable").reset_index()


def clamped_raises(delays: pd.DataFrame) -> int:
    """How many raises of these rows of raise_delays() stood at or after the entry."""
    return int(delays["clamped"].sum())
