# NET_RX from the interrupt that raised it to its polls, the runs of softirqs they are in, and what
# they did in all.

from typing import Any

import pandas as pd

from ... import plots
from ...answers.question import Answer, question
from ...frames import most_first
from ...timeline.timeline import Timeline
from .kernel_limits import MAX_SOFTIRQ_RESTART, limits_of
from .paired import INPUTS, Picked, gathered, paired
from .poll_costs import alone_and_together, costs_from, without_doubt

_TIMES = ("irq_ns", "raise_delay_ns", "outside_polls_ns", "poll_ns", "nested_ns")
_RUN = ["in_kthread", "rounds_made", "still_pending", "end_reason"]
_UNUSUAL = Picked()


@question(
    needs=("softirqs",),
    inputs=INPUTS,
    columns=("cpu", "entry_ns", "wall_ns", "packets", "device", "comm", "raise_delay_ns"),
    rows=5,
)
def softirq_chains(timeline: Timeline) -> Answer:
    """Each NET_RX softirq: what raised it, how long it waited, what it polled, where its time went.

    A row per NET_RX that was seen from entry to exit, by CPU and time; if there are more than
    100,000, those that began first. The other tables cover all of them. NA:

    - polls, packets and device where napi_poll was not recorded.
    - irq and its columns where no interrupt is known to have raised it.
    - poll_ns, outside_polls_ns and nested_ns where the window holds only a part of it.

    Source: softirqs, hardirqs, polls and coverage. Definitions: docs/definitions.md.
    """
    tables = paired(timeline)
    in_kthread = _counts(tables, "in_kthread").set_index("in_kthread")["softirqs"]
    raised = _counts(tables, "raised").set_index("raised")["softirqs"]
    number, threaded = int(in_kthread.sum()), int(in_kthread.get("yes", 0))
    return Answer(
        _numbered(tables, "chains"),
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
    counts = tables["counts"].rename(columns={"which": what, "n": "softirqs"})
    counts = counts.loc[counts["what"] == what, [what, "softirqs"]]
    return most_first(counts.sort_values(what), "softirqs")


def _by_device(sums: pd.DataFrame) -> pd.DataFrame:
    # A row per device that chains polled first, most chains first, and one for those without a
    # poll. The mean of each time is of the chains of which it is known, and 0 where of none.
    table = sums.set_index("device").sort_index()
    for name in _TIMES:
        known = table[f"{name}_known"]
        table[name] = (table[name] / known).where(known > 0, 0.0)
    columns = ["device", "softirqs", "packets", *_TIMES]
    return most_first(table.reset_index()[columns], "softirqs")


softirq_chains.plot(
    title="Where the time of a NET_RX goes, by device",
    height=lambda answer: 1.3 + 0.42 * len(answer["by_device"]),
)(lambda ax, answer: plots.softirqs.anatomy(ax, answer["by_device"]))


@question(
    needs=("softirqs",),
    allow_zero=("longer_ns", "fewer_packets", "longest"),
    inputs=INPUTS,
    columns=(
        *("wall_ns", "cpu", "comm", "device", "polls", "packets"),
        *("poll_ns", "outside_polls_ns", "nested_ns", "entry_ns", "picked"),
    ),
    rows=12,
)
def long_softirqs(
    timeline: Timeline,
    longer_ns: int = _UNUSUAL.longer_ns,
    fewer_packets: int = _UNUSUAL.fewer_packets,
    longest: int = _UNUSUAL.longest,
) -> Answer:
    """NET_RX softirqs that took long for few packets, and the longest few of all.

    Rows of softirq_chains, the longest first, 100,000 at most. By default long and few are the
    "well over 20,000 usec" and 64 packets of The CPU Cost of Networking on a Host (David Ahern).
    Without napi_poll packets are unknown, and the rows are the longest of all. nested_ns is the
    time that interrupts, and on PREEMPT_RT other tasks, took within a softirq. Source:
    softirq_chains.
    """
    tables = paired(timeline, picked=Picked(longer_ns, fewer_packets, longest))
    parts = {"few packets": _numbered(tables, "strange"), "longest": _numbered(tables, "longest")}
    frame = pd.concat([rows.assign(picked=name) for name, rows in parts.items()])
    frame = frame.drop_duplicates(["cpu", "ordinal"]).sort_values(["cpu", "entry_ns", "ordinal"])
    few = int((frame["picked"] == "few packets").sum())
    return Answer(
        most_first(frame, "wall_ns"),
        few_softirqs=few if frame["packets"].notna().any() else None,
        longer_ns=longer_ns,
        fewer_packets=fewer_packets,
    )


@question(
    needs=("softirqs",),
    inputs=INPUTS,
    columns=("cpu", "start_ns", "wall_ns", "rounds_made", "packets", "comm", "end_reason"),
    rows=0,
)
def softirq_runs(timeline: Timeline, hz: int | None = None) -> Answer:
    """The runs of __do_softirq: how many rounds each made, and what ended it.

    A row per run; if there are more than 100,000, those that began first. hz is by default that of
    the bundle's kernel configuration. end_reason is "unknown" where no softirq_raise shows what was
    pending. `by_kind`: the number of runs of each kind, over all runs. Source: softirqs and
    hardirqs.
    """
    tables = paired(timeline, hz)
    kinds = tables["run_counts"].sort_values(_RUN, ignore_index=True)
    outside = kinds[~kinds["in_kthread"]]
    several = outside.loc[outside["rounds_made"] > 1, "run_count"]
    number, outside_count = int(kinds["run_count"].sum()), int(outside["run_count"].sum())
    return Answer(
        _numbered(tables, "runs"),
        kernel_limits=limits_of(timeline.capture, hz=hz),
        by_kind=kinds,
        by_reason=kinds.groupby("end_reason")["run_count"].sum().reset_index(),
        in_all={
            "run_count": number,
            "outside_count": outside_count,
            "several_rounds_count": int(several.sum()),
            "most_rounds": int(outside["rounds_made"].max()) if len(outside) else 0,
            "in_kthread_count": number - outside_count,
        },
    )


softirq_runs.plot(
    title="Rounds of softirqs, back to back",
    height=2.5,
)(lambda ax, answer: plots.softirqs.run_rounds(ax, answer["by_kind"], MAX_SOFTIRQ_RESTART))


def _numbered(tables: dict[str, pd.DataFrame], name: str) -> pd.DataFrame:
    # Rows of chains or runs, with runs numbered CPU after CPU.
    number, rows = tables["runs_of_cpu"].set_index("cpu")["runs"], tables[name]
    before = rows["cpu"].map(number.cumsum() - number).to_numpy(dtype="int64")
    rows = rows.assign(call=rows["call"] + before)
    return rows.astype({"device": "str"}) if "device" in rows else rows


@question(needs=("softirqs",), inputs=INPUTS, rows=0)
def net_rx_totals(timeline: Timeline) -> Answer:
    """What NET_RX softirqs did and took in total; what a packet costs alone and with others.

    Sums over all CPUs of the timeline, of NET_RX that were seen from entry to exit. Packet figures
    are None where polls were not recorded. Source: sums of softirq_chains, and the costs of
    poll_costs.
    """
    by_polls = paired(timeline)["by_polls"].set_index("has_polls")
    every = by_polls.sum()
    polled, without = (by_polls[by_polls.index == has].sum() for has in (1, 0))
    cpu_ns = timeline.duration_ns * len(timeline.summary["cpus"])
    own_ns = int(polled["own_ns"])
    return Answer(
        net_rx=int(every["softirqs"]),
        wall_ns=int(every["wall_ns"]),
        with_polls=int(polled["softirqs"]),
        polls=int(polled["polls"]),
        packets=int(polled["packets"]),
        self_ns=own_ns,
        all_cpus_share=own_ns / cpu_ns if cpu_ns else None,
        in_polls_share=int(polled["poll_ns"]) / own_ns if own_ns else None,
        dispatches=int(without["softirqs"]),
        dispatch_ns=int(without["unnested_ns"]),
        **_of_devices(timeline),
    )


def _of_devices(timeline: Timeline) -> dict[str, Any]:
    names = ("device", "batch_mean", "priced_device", "alone_ns", "together", "together_ns")
    figures: dict[str, Any] = dict.fromkeys(names)
    if timeline.missing["polls"]:
        return figures
    costs = costs_from(gathered(timeline))
    if costs["batch_mean"].head(1).notna().any():
        first = costs.iloc[0]
        figures |= {"device": first["device"], "batch_mean": float(first["batch_mean"])}
        fitted = without_doubt(costs)
        # The price of a packet that comes alone depends on the fixed part, which must not be noise.
        if fitted["fixed_low_ns"].head(1).gt(0).any():
            cost = fitted.iloc[0]
            figures |= {"priced_device": cost["device"], **alone_and_together(cost)}
    return figures


@question(rows=0)
def detail_window(timeline: Timeline) -> Answer:
    """Which part of a very large capture is shown softirq by softirq and poll by poll.

    Source: Timeline.excerpt, the window whose rows fit in memory.
    """
    part = timeline.excerpt
    return Answer(
        is_part=part is not timeline, offset_ns=part.offset_ns, window_ns=part.duration_ns
    )
