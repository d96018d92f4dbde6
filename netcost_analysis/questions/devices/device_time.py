# CPU time by device, in interrupts and in polls: by CPU, as a matrix, and over time.


import numpy as np
import pandas as pd

from ... import plots
from ...answers.form import each
from ...answers.question import Answer, question
from ...timeline.aggregates import IN_BINS, Grouped, in_window
from ...timeline.owners import NO_DEVICE, thief_label
from ...timeline.reading import bounds_of, once
from ...timeline.timeline import Timeline
from ...units import round_width
from ..batches.poll_sizes import whole_polls
from .device_lines import ENTERED, RAISED, counted_interrupts, lines_of, numbered, shared_lines
from .upper_bounds import with_upper_bounds

# The thieves in the picture of device_matrix, and the devices in those of device_time_series.
_MATRIX_ROWS, _DEVICES = 14, 3
_KEYS = ["kind", "thief", "device", "cpu"]
_PARTS = ["hardirq_ns", "poll_ns", "outside_polls_ns"]
_COUNTS = ["interrupts", "polls", "packets", "timed_packets"]
_COLUMNS = [
    *_KEYS,
    *("hardirq_ns", "hardirq_max_ns", "poll_ns", "poll_max_ns", "outside_polls_ns"),
    *("ns", "max_ns", "cpu_share", "unknown_share"),
    *("interrupts", "interrupts_per_s", "polls", "packets", "timed_packets"),
]
# Polls of known length; without any, the time is unknown and not 0.
_TIMED = "timed_polls"
# include/linux/interrupt.h: NET_TX_SOFTIRQ, NET_RX_SOFTIRQ.
_NETWORK_SOFTIRQS = (2, 3)
# A poll is counted where it ends.
_POLLED = Grouped(
    "polls",
    by=("device", "cpu", "is_timed"),
    sums=("work",),
    known=("work",),
    where=in_window("end_ns"),
)
WHOLE = Grouped("polls", by=("device", "cpu"), sums=("work", "self_ns"), where=whole_polls)
INPUTS = (RAISED, ENTERED, _POLLED, WHOLE)


@question(
    needs=(("interrupts", "polls"),),
    inputs=INPUTS,
    columns=("thief", "cpu", "ns", "cpu_share", "interrupts_per_s", "packets"),
)
def device_time(timeline: Timeline) -> Answer:
    """How much CPU time each device took on each CPU, in interrupts and in polls.

    A row per thief and CPU on which it took any time, most ns first. A row of kind "softirq" is the
    time of network softirqs outside their polls, which cannot be charged to a device. NA means that
    an event was not recorded, or that the row's kind does not have it. hardirq_max_ns, poll_max_ns
    and max_ns include what no event shows. If the interfaces' counters show that polls were missed,
    outside_polls_ns may have been a poll. Source: the timeline's sums; each line's device from
    device_lines.
    """
    return Answer(_times_of(timeline))


@question(
    needs=(("interrupts", "polls"),),
    inputs=INPUTS,
    columns=("thief", "cpu", "cpu_share", "interrupts_per_s", "ns"),
    rows=0,
)
def device_matrix(timeline: Timeline) -> Answer:
    """Devices by CPU: the share of each CPU's time that each took, and interrupts per second.

    A row per thief and recorded CPU, thieves by falling total. CPUs on which a thief took nothing
    are included. interrupts_per_s is NA where a thief has no interrupts. `kinds`: on all CPUs.
    Source: device_time.
    """
    rows = _times_of(timeline)
    totals = rows.groupby(["kind", "thief"])["ns"].sum()
    thieves = totals.sort_values(ascending=False, kind="stable").index
    cpus = sorted(timeline.summary["cpus"])
    places = pd.MultiIndex.from_tuples(
        [(*thief, cpu) for thief in thieves for cpu in cpus], names=["kind", "thief", "cpu"]
    )
    values = rows[["ns", "cpu_share", "interrupts_per_s"]].astype("Float64")
    sums = values.groupby([rows[name] for name in places.names]).sum(min_count=1)
    # What is not known of a row stays so; a CPU without a row had none of it.
    frame = sums.reindex(places, fill_value=0.0)
    per_s = frame["interrupts_per_s"]
    unknown = per_s.isna().groupby(level=["kind", "thief"]).transform("any")
    frame["interrupts_per_s"] = per_s.mask(unknown)
    kinds = frame.groupby("kind")[["ns"]].sum().reset_index()
    kinds["cpu_share"] = kinds["ns"] / (timeline.duration_ns or pd.NA)
    return Answer(
        frame.reset_index(),
        kinds=kinds[kinds["ns"] > 0],
        polls_recorded=not timeline.missing["polls"],
        unknown_cpu_share=timeline.unknown_cpu_share,
    )


@question(
    needs=(("interrupts", "polls"),),
    inputs=(RAISED, ENTERED, IN_BINS),
    columns=("device", "start_ns", "cpu_share", "hardirq_ns", "poll_ns"),
    rows=0,
)
def device_time_series(timeline: Timeline, bin_ns: int | None = None) -> Answer:
    """How much CPU time each device took, bin by bin, in interrupts and in polls.

    A row per device and bin in which it took any time, the device with most time first. Bins start
    on multiples of bin_ns, by default so that there are about 120. The window cuts the first and
    the last. Source: the timeline's sums; each line's device from device_lines.
    """
    start_ns, end_ns = bounds_of(timeline).span
    width = round_width(end_ns - start_ns) if bin_ns is None else bin_ns
    sums, lines = timeline.sums(width), lines_of(timeline)
    # A line's handlers are told apart by name only where there are several.
    split = shared_lines(lines)
    served = numbered(lines, split).loc[lines["device"].notna(), ["irq", "device"]]
    ran = sums.loc[sums["context"] == "hardirq", ["id", "name", "bin_ns", "ns"]]
    ran = ran.rename(columns={"id": "irq", "ns": "hardirq_ns"})
    ran = numbered(ran.astype({"irq": "Int64", "name": object}), split)
    polled = sums.loc[sums["context"] == "poll", ["device", "bin_ns", "ns"]]
    polled = polled.astype({"device": object}).fillna({"device": NO_DEVICE})
    ran = ran.merge(served.astype({"irq": "Int64"}), on="irq")
    rows = pd.concat([ran, polled.rename(columns={"ns": "poll_ns"})])
    frame = rows.groupby(["device", "bin_ns"], as_index=False)[["hardirq_ns", "poll_ns"]].sum()
    frame["ns"] = frame["hardirq_ns"] + frame["poll_ns"]
    frame = frame[frame["ns"] > 0].astype({"bin_ns": "int64", "ns": "int64"})
    frame["start_ns"] = frame["bin_ns"].clip(lower=start_ns)
    frame["end_ns"] = (frame["bin_ns"] + width).clip(upper=end_ns)
    frame["cpu_share"] = frame["ns"] / (frame["end_ns"] - frame["start_ns"])
    frame["total"] = -frame.groupby("device")["ns"].transform("sum")
    frame = frame.sort_values(["total", "device", "start_ns"], ignore_index=True)
    # Of what was not recorded the sum is no 0.
    for name, fact in (("hardirq_ns", "interrupts"), ("poll_ns", "polls")):
        if timeline.missing[fact]:
            frame[name] = pd.NA
    columns = ["device", "start_ns", "end_ns", "hardirq_ns", "poll_ns", "ns", "cpu_share"]
    return Answer(frame[columns])


@once
def _times_of(timeline: Timeline) -> pd.DataFrame:
    lines, sums = lines_of(timeline), timeline.sums()
    by_line = _by_line(sums, lines, counted_interrupts(timeline))
    parts = pd.concat([by_line, _by_poll(sums, timeline), _by_softirq(sums)], ignore_index=True)
    rows = _combined(parts, sums, timeline)
    return with_upper_bounds(rows, sums, lines, timeline)[_COLUMNS]


def _by_line(sums: pd.DataFrame, lines: pd.DataFrame, interrupts: pd.DataFrame) -> pd.DataFrame:
    # What interrupt lines took, each charged to its device if it has one.
    handlers = sums[(sums["context"] == "hardirq") & sums["id"].notna()]
    handlers = handlers.rename(columns={"id": "irq", "ns": "hardirq_ns"})
    handlers = handlers.astype({"irq": "int64", "name": object})
    # A line's handlers are told apart by name only where there are several.
    split = shared_lines(lines)
    handlers, interrupts, lines = (numbered(rows, split) for rows in (handlers, interrupts, lines))
    keys = ["irq", "cpu"]
    frame: pd.DataFrame = (
        handlers.groupby(keys, as_index=False)["hardirq_ns"]
        .sum()
        .merge(interrupts.groupby(keys, as_index=False)["interrupts"].sum(), on=keys, how="outer")
        .merge(lines[["irq", "name", "device"]], on="irq", how="left")
    )
    frame["irq"] = frame["irq"].replace({key: irq for (irq, _), key in split.items()})
    frame["kind"] = np.where(frame["device"].isna(), "line", "device")
    frame["thief"] = [
        thief_label("hardirq", irq, name, device, "device")
        for irq, name, device in zip(frame["irq"], frame["name"], frame["device"], strict=True)
    ]
    return frame[[*_KEYS, "hardirq_ns", "interrupts"]]


def _by_poll(sums: pd.DataFrame, timeline: Timeline) -> pd.DataFrame:
    # What polls took, in softirqs and in threads (threaded NAPI), and what they received.
    keys = ["device", "cpu"]
    polls = sums.loc[sums["context"] == "poll", [*keys, "ns"]]
    polls = polls.astype({"device": object}).fillna({"device": NO_DEVICE})
    ns = polls.groupby(keys)["ns"].sum().rename("poll_ns").reset_index()
    # Busy polls and netpoll have no begin and no time; of a poll that began before, a part is
    # known.
    counts = _POLLED(timeline).frame
    counts = counts.assign(**{_TIMED: counts["polls"] * counts["is_timed"]})
    counts = counts.groupby(keys)[["polls", "packets", _TIMED, "work_known"]].sum()
    whole = WHOLE(timeline).frame.set_index(keys)["packets"]
    counts["timed_packets"] = whole.reindex(counts.index, fill_value=0)
    if not counts["work_known"].any():
        # Before Linux 4.8 the event has no work.
        counts = counts.drop(columns=["packets", "timed_packets"])
    frame = ns.merge(counts.drop(columns="work_known").reset_index(), on=keys, how="outer")
    frame["kind"] = np.where(frame["device"] == NO_DEVICE, "backlog", "device")
    frame["thief"] = [thief_label("poll", None, None, name, "device") for name in frame["device"]]
    return frame


def _by_softirq(sums: pd.DataFrame) -> pd.DataFrame:
    # What network softirqs did outside their polls.
    softirqs = sums[(sums["context"] == "softirq") & sums["id"].isin(_NETWORK_SOFTIRQS)]
    softirqs = softirqs.rename(columns={"name": "thief", "ns": "outside_polls_ns"})
    softirqs = softirqs.astype({"thief": object})
    frame = softirqs.groupby(["thief", "cpu"])["outside_polls_ns"].sum().reset_index()
    return frame.assign(kind="softirq", device=None)


def _combined(parts: pd.DataFrame, sums: pd.DataFrame, timeline: Timeline) -> pd.DataFrame:
    # A row per thief and CPU. parts: rows of lines, polls and softirqs.
    numbers = [*_PARTS, *_COUNTS, _TIMED]
    frame = parts.reindex(columns=[*_KEYS, *numbers]).astype(dict.fromkeys(numbers, "Int64"))
    frame = frame.groupby(_KEYS, dropna=False, as_index=False)[numbers].sum(min_count=1)
    polled = (frame["polls"] > 0).fillna(False)
    without_work = polled & frame["packets"].isna()
    untimed = polled & (frame[_TIMED].fillna(0) == 0)
    frame[numbers] = frame[numbers].fillna(0)
    # NA where a kind of row has no such figure, or it was not recorded.
    kind, missing = frame["kind"], timeline.missing
    no_irqs = kind.isin(["softirq", "backlog"]) | bool(missing["interrupts"])
    no_polls = ~kind.isin(["device", "backlog"]) | bool(missing["polls"])
    frame.loc[no_irqs, ["hardirq_ns", "interrupts"]] = pd.NA
    frame.loc[no_polls, ["poll_ns", "polls", "packets", "timed_packets"]] = pd.NA
    frame.loc[without_work, ["packets", "timed_packets"]] = pd.NA
    frame.loc[untimed, "poll_ns"] = pd.NA
    frame.loc[kind != "softirq", "outside_polls_ns"] = pd.NA
    frame["ns"] = frame[_PARTS].sum(axis=1, min_count=1).astype("Int64")
    window_ns = timeline.duration_ns or float("nan")
    frame["cpu_share"] = frame["ns"].to_numpy("float64", na_value=float("nan")) / window_ns
    frame["interrupts_per_s"] = frame["interrupts"].astype("Float64") * (1e9 / window_ns)
    total = sums.groupby("cpu")["ns"].sum()
    unknown = sums[sums["context"] == "unknown"].groupby("cpu")["ns"].sum()
    unknown_share = unknown.reindex(total.index, fill_value=0) / total.where(total > 0)
    frame["unknown_share"] = frame["cpu"].map(unknown_share)
    order = ["ns", "thief", "cpu"]
    return frame.sort_values(order, ascending=[False, True, True], ignore_index=True)


def _matrix_rows(answer: Answer) -> pd.DataFrame:
    # Rows of a thief stand together, as many as there are CPUs.
    return answer.frame[: _MATRIX_ROWS * answer.frame["cpu"].nunique()]


device_matrix.plot(
    title="Share of each CPU's time by device",
    height=lambda answer: (
        0.9 + 0.36 * len(_matrix_rows(answer)[["kind", "thief"]].drop_duplicates())
    ),
)(lambda ax, answer: plots.devices.matrix(ax, _matrix_rows(answer)))


def _busiest(answer: Answer) -> list[dict[str, str]]:
    devices = answer.frame["device"].drop_duplicates()
    return [{"device": str(name)} for name in devices[~devices.isin([NO_DEVICE, "lo"])][:_DEVICES]]


@device_time_series.plot(
    title=lambda _, device: f"CPU time of {device} over time",
    height=2.4,
    panels=_busiest,
    choices=each("device"),
)
def _of_device(ax: "plots.Axes", answer: Answer, device: str) -> None:
    rows = answer.frame[answer.frame["device"] == device]
    plots.devices.time_shares(ax, rows, bounds_of(answer.timeline).span, answer.start_ns)
    ax.set_title(device)
