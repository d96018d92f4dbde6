# Time of CPUs by device: intrstat's question, with polls, where Linux does the work.

from typing import TYPE_CHECKING

import pandas as pd

from ...answers.question import question
from ...timeline.reading import once
from .device_lines import ENTERED, counted_interrupts, device_lines
from .line_evidence import RAISED
from .parts import POLLED, TIMED, WHOLE, by_line, by_poll, by_softirq, polled
from .upper_ends import with_upper_ends

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline

_KEYS = ["kind", "thief", "device", "cpu"]
_PARTS = ["hardirq_ns", "poll_ns", "outside_polls_ns"]
_COUNTS = ["interrupts", "polls", "packets", "timed_packets"]
_COLUMNS = [
    *_KEYS,
    *_PARTS,
    "ns",
    "cpu_share",
    "unknown_share",
    "interrupts",
    "interrupts_per_s",
    *_COUNTS[1:],
]
# With what no event shows, beside what is seen.
COLUMNS = [
    *_KEYS,
    *("hardirq_ns", "hardirq_max_ns", "poll_ns", "poll_max_ns"),
    "outside_polls_ns",
    "ns",
    "max_ns",
    *_COLUMNS[_COLUMNS.index("ns") + 1 :],
]


# What its parts are computed of.
INPUTS = (RAISED, ENTERED, POLLED, WHOLE)


@question(
    needs=(("interrupts", "polls"),),
    inputs=INPUTS,
    columns=("thief", "cpu", "ns", "cpu_share", "interrupts_per_s", "packets"),
)
def device_time(timeline: "Timeline") -> pd.DataFrame:
    """What CPU time each device took on each CPU, in its interrupts and in its polls.

    A row per (thief, cpu) that took any, most ns first: kind, thief, device, cpu, hardirq_ns,
    hardirq_max_ns, poll_ns, poll_max_ns, outside_polls_ns, ns, max_ns, cpu_share, unknown_share,
    interrupts, interrupts_per_s, polls, packets, timed_packets. NA where the events were not
    recorded and where a row has none by its kind.

    kind is "device"; "backlog" for the polls that have no device; "line" for an interrupt line that
    serves no known network device; "softirq" for what network softirqs did outside their polls,
    which no device can be charged with. hardirq_max_ns, poll_max_ns and max_ns are with what no
    event shows; where the interfaces' counters show that polls were missed, outside_polls_ns is
    what may have been one. Source: the timeline's sums; each line's device as device_lines has it.
    """
    return _times(timeline).copy()


# Of one timeline several questions of a page ask it.
@once
def _times(timeline: "Timeline") -> pd.DataFrame:
    irqs, polls = not timeline.missing["interrupts"], not timeline.missing["polls"]
    lines = device_lines(timeline)
    sums = timeline.sums()
    parts = [
        by_line(sums, lines, counted_interrupts(timeline)),
        by_poll(sums, polled(timeline)),
        by_softirq(sums),
    ]
    whole = pd.concat(parts, ignore_index=True)
    rows = combined(whole, sums, timeline.duration_ns, irqs, polls)
    return with_upper_ends(rows, sums, lines, timeline)[COLUMNS]


def combined(
    parts: pd.DataFrame, sums: pd.DataFrame, window_ns: int, irqs: bool, polls: bool
) -> pd.DataFrame:
    # One row per (thief, cpu) of parts that came from lines, polls and softirqs. parts: kind,
    # thief, device, cpu, and of hardirq_ns, poll_ns, outside_polls_ns, interrupts, polls, packets
    # and timed_packets those that a part has. irqs, polls: whether they were recorded.
    numbers = [*_PARTS, *_COUNTS, TIMED]
    frame = parts.reindex(columns=[*_KEYS, *numbers])
    frame[numbers] = frame[numbers].astype("Int64")
    frame = frame.groupby(_KEYS, dropna=False, as_index=False)[numbers].sum(min_count=1)
    without_work = (frame["polls"] > 0).fillna(False) & frame["packets"].isna()
    untimed = (frame["polls"] > 0).fillna(False) & (frame[TIMED].fillna(0) == 0)
    frame[numbers] = frame[numbers].fillna(0)
    of_device, of_softirq = frame["kind"].isin(["device", "backlog"]), frame["kind"] == "softirq"
    # Of what a kind of row cannot have, and of what was not recorded, the sum is no 0.
    no_irqs = of_softirq | (frame["kind"] == "backlog") | (not irqs)
    no_polls = ~of_device | (not polls)
    frame.loc[no_irqs, ["hardirq_ns", "interrupts"]] = pd.NA
    frame.loc[no_polls, ["poll_ns", "polls", "packets", "timed_packets"]] = pd.NA
    frame.loc[without_work, ["packets", "timed_packets"]] = pd.NA
    frame.loc[untimed, "poll_ns"] = pd.NA
    frame.loc[~of_softirq, "outside_polls_ns"] = pd.NA
    frame["ns"] = frame[_PARTS].sum(axis=1, min_count=1).astype("Int64")
    seen = frame["ns"].to_numpy("float64", na_value=float("nan"))
    frame["cpu_share"] = seen / window_ns if window_ns > 0 else float("nan")
    frame["unknown_share"] = frame["cpu"].map(_unknown_share(sums)).astype("float64")
    frame["interrupts_per_s"] = frame["interrupts"].astype("Float64") * (
        1e9 / window_ns if window_ns > 0 else float("nan")
    )
    frame["cpu"] = frame["cpu"].astype("int64")
    frame["device"] = frame["device"].where(frame["device"].notna(), None)
    frame = frame.sort_values(["ns", "thief", "cpu"], ascending=[False, True, True], kind="stable")
    return frame[_COLUMNS].reset_index(drop=True)


def _unknown_share(sums: pd.DataFrame) -> "pd.Series[float]":
    # By CPU, the share of the window without a known owner.
    total = sums.groupby("cpu")["ns"].sum()
    unknown = sums[sums["context"] == "unknown"].groupby("cpu")["ns"].sum()
    part = unknown.reindex(total.index, fill_value=0) / total.where(total > 0)
    return pd.Series(part, dtype="float64")
