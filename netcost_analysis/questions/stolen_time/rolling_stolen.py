"""How a loss changes while the capture goes on: in windows that roll over it, and in bins."""

import numpy as np
import pandas as pd

from ... import plots
from ...answers.question import Answer, question
from ...coverage import lost_of_cpus
from ...errors import ArgumentError
from ...timeline.aggregates import IN_BINS
from ...timeline.by import By, check_by, victim_keys
from ...timeline.lives import LIVES
from ...timeline.owners import KIND_COLUMNS, kinds_of, of_tasks, sums_by_thief, within_figures
from ...timeline.reading import bounds_of, rows
from ...timeline.task import Task, label_of, rows_of
from ...timeline.timeline import Timeline
from ...units import round_width
from ..victim import asked_or_chosen

_MEASURES = (
    *("on_cpu_ns", "task_ns", "stolen_ns", "stolen_max_ns", "stolen_network_ns"),
    *("stolen_network_max_ns", "synchronous_ns", "scheduled_ns", "unknown_ns"),
    *KIND_COLUMNS.values(),
)
_STEPS_IN_WINDOW = 5
# A window with more unknown time cannot be compared with others.
_UNKNOWN = 0.1


@question(
    inputs=(LIVES, IN_BINS),
    columns=(
        *("start_ns", "end_ns", "stolen_cpu_share", "stolen_share", "stolen_ns"),
        "on_cpu_ns",
    ),
)
def rolling_stolen(
    timeline: Timeline,
    window_ns: int | None = None,
    step_ns: int | None = None,
    by: By | None = None,
    victim: Task | None = None,
) -> Answer:
    """How much was stolen, in windows that roll over the timeline.

    - window_ns: Width of a window, a multiple of step_ns. None: five steps.
    - step_ns: From one window's start to the next one's. None: a round width of which the timeline
      has about 120.
    - by: None: the victim's tasks together; else a row per window and comm, tid or CPU of those
      that were on a CPU in it.
    - victim: A task by tid or comm; ALL for every task. None: the timeline's (Timeline.victim), by
      CPU every task.

    A row per window. hardirq_ns, vector_ns, poll_ns, network_outside_polls_ns, other_softirq_ns and
    nmi_ns are parts of stolen_max_ns; unknown_cpu_share is a share of the window's CPU time.
    lifetime_ns is how much of the window the victim was certainly alive, for a group the sum over
    its tasks; NA for all tasks together. Windows begin on multiples of step_ns on the capture's
    clock; the timeline cuts the first and the last.

    Source: sums(step_ns), the steps of a window added up; lives.
    """
    victim = asked_or_chosen(timeline, victim, by)
    step, window = _widths(timeline, window_ns, step_ns)
    frame = windows(timeline, window, step, by, victim)
    comparable = frame if by is None else frame[:0]
    comparable = usual(comparable[comparable["stolen_cpu_share"].notna()])
    some = len(comparable) >= 2 and comparable["stolen_cpu_share"].max()
    widths = comparable["end_ns"] - comparable["start_ns"]
    return Answer(
        frame,
        width_ns=int(widths.median()) if some else None,
        extremes=_extremes(comparable if some else comparable[:0]),
        victim=label_of(timeline, victim),
        capture_start_ns=timeline.capture.start_ns,
    )


def windows(
    timeline: Timeline, window: int, step: int, by: By | None, victim: Task | None
) -> pd.DataFrame:
    # The rows of rolling_stolen().
    if by is not None:
        check_by(by)
    keys = [] if by is None else victim_keys(by)
    if timeline.duration_ns:
        sums = timeline.sums(step)
        edges = bounds_of(timeline).span
        frame = rolled(_measured(sums, by, victim), keys, step, window, edges)
        frame["unknown_cpu_share"] = unknown_in(sums, frame, step)
        frame["lifetime_ns"] = _lived(timeline, frame, keys, victim)
    else:
        frame = rolled(_measured(timeline.sums(), by, victim), keys, step, window, (0, 0))
        frame = frame.assign(unknown_cpu_share=float("nan"), lifetime_ns=0)
    if timeline.missing["on_cpu"]:
        frame[["on_cpu_ns", "task_ns"]] = pd.NA
        frame[["stolen_share", "stolen_max_share"]] = float("nan")
    return frame.astype({"on_cpu_ns": "Int64", "task_ns": "Int64", "lifetime_ns": "Int64"})


def _widths(timeline: Timeline, window_ns: int | None, step_ns: int | None) -> tuple[int, int]:
    step = step_ns
    if step is None:
        # A given window consists of whole steps.
        step = window_ns // _STEPS_IN_WINDOW if window_ns else round_width(timeline.duration_ns)
        if window_ns and (not step or window_ns % step):
            step = window_ns
    window = _STEPS_IN_WINDOW * step if window_ns is None else window_ns
    if step <= 0 or window <= 0 or window % step:
        raise ArgumentError(f"a window of {window} ns is not a whole number of steps of {step} ns")
    return step, window


def unknown_in(sums: pd.DataFrame, frame: pd.DataFrame, step: int) -> "pd.Series[float]":
    # The share of each window's CPU time without a known owner.
    every = sums.groupby("bin_ns")["ns"].sum()
    unknown = sums[sums["context"] == "unknown"].groupby("bin_ns")["ns"].sum()
    unknown = unknown.reindex(every.index, fill_value=0)
    bins = every.index.to_numpy("int64")
    first = np.searchsorted(bins, frame["start_ns"].to_numpy() // step * step)
    after = np.searchsorted(bins, frame["end_ns"].to_numpy())
    until = (np.append(0, ns.cumsum()) for ns in (unknown, every))
    lost, whole = (pd.Series(ns[after] - ns[first], frame.index) for ns in until)
    return lost / whole.where(whole > 0)


def _lived(
    timeline: Timeline, frame: pd.DataFrame, keys: list[str], victim: Task | None
) -> "pd.Series[int]":
    # How long in each window the victim was there.
    if timeline.missing["on_cpu"] or ("comm" not in keys and victim is None):
        return pd.Series(pd.NA, index=frame.index, dtype="Int64")
    lives = timeline.lives[["tid", "comm", "begun_ns", "done_ns"]].dropna().astype({"comm": object})
    lives = rows_of(lives, victim)
    windows = frame[["start_ns", "end_ns", *keys]].rename_axis("window").reset_index()
    both = windows.merge(lives, on=keys) if keys else windows.merge(lives, how="cross")
    ends = both[["end_ns", "done_ns"]].astype("int64").min(axis=1)
    begins = both[["start_ns", "begun_ns"]].astype("int64").max(axis=1)
    there = (ends - begins).clip(lower=0).groupby(both["window"]).sum()
    return there.reindex(frame.index, fill_value=0).astype("Int64")


def _measured(sums: pd.DataFrame, by: By | None, victim: Task | None) -> pd.DataFrame:
    # The sums of tasks with a column for each measure.
    tasks = of_tasks(sums_by_thief(sums, by or "comm"))
    tasks = rows_of(tasks.assign(bin_ns=sums["bin_ns"].loc[tasks.index]), victim)
    what = {**within_figures(tasks), "unknown_ns": tasks["context"] == "unknown"}
    kind = kinds_of(tasks).where(what["stolen_max_ns"])
    what |= {column: kind == name for name, column in KIND_COLUMNS.items()}
    return tasks.assign(**{name: tasks["ns"].where(mask, 0) for name, mask in what.items()})


def rolled(
    rows: pd.DataFrame, keys: list[str], step: int, window: int, edges: tuple[int, int]
) -> pd.DataFrame:
    # rows: bin_ns, the keys and the measures. edges: of the timeline, ns.
    start, end = edges
    measures = list(_MEASURES)
    binned = rows.groupby([*keys, "bin_ns"], dropna=False)[measures].sum().reset_index()
    first = start // step * step
    last = max(-(-end // step) * step - window, first)
    # A window longer than the timeline ends with it.
    window = min(window, max(end - first, step))
    steps = -(-window // step)
    # A bin is part of every window that holds it: as many as a window has steps.
    parts = [binned.assign(window=binned["bin_ns"] - number * step) for number in range(steps)]
    spread = pd.concat(parts)
    spread = spread[spread["window"].between(first, last)]
    frame = spread.groupby(["window", *keys], dropna=False)[measures].sum()
    if not keys:
        # A window in which no task ran has a row too.
        every = pd.RangeIndex(first, last + 1, step, name="window") if end > start else frame.index
        frame = frame.reindex(every, fill_value=0)
    frame = frame.reset_index()
    frame.insert(0, "start_ns", frame["window"].clip(lower=start).astype("int64"))
    frame.insert(1, "end_ns", (frame["window"] + window).clip(upper=end).astype("int64"))
    frame = frame.drop(columns="window").astype(dict.fromkeys(measures, "int64"))
    width, on_cpu = frame["end_ns"] - frame["start_ns"], frame["on_cpu_ns"]
    for most in ("", "_max"):
        ns = frame[f"stolen{most}_ns"]
        frame[f"stolen{most}_share"] = ns / on_cpu.where(on_cpu > 0)
        frame[f"stolen_cpu{most}_share"] = ns / width.where(width > 0)
    return frame


def usual(frame: pd.DataFrame) -> pd.DataFrame:
    # The windows that can be compared: the victim was there throughout and had at least half of its
    # usual time, and most is known. All of them where its time on CPU is unknown.
    if not len(frame) or frame["on_cpu_ns"].isna().any():
        return frame
    width = frame["end_ns"] - frame["start_ns"]
    frame = frame[(frame["lifetime_ns"] >= width).fillna(True).astype(bool)]
    ran = frame["on_cpu_ns"].astype("int64")
    known = frame["unknown_cpu_share"] < _UNKNOWN
    return frame[known & (ran >= ran[ran > 0].median() / 2)]


def spread(frame: pd.DataFrame) -> dict[str, float] | None:
    # The 10th and 90th percentile of stolen_max_share over usual windows, and the most; None for
    # few windows, or where nothing was stolen.
    shares = usual(frame)["stolen_max_share"].dropna()
    if len(shares) < 5 or not shares.max():
        return None
    low, high = shares.quantile([0.1, 0.9])
    return {"low_share": low, "high_share": high, "most_share": shares.max()}


def _extremes(frame: pd.DataFrame) -> pd.DataFrame:
    # The windows with most and least stolen, and the two adjacent windows with the largest change.
    if not len(frame):
        return pd.DataFrame(columns=["extreme", *frame.columns])
    shares = frame.set_index("start_ns")["stolen_cpu_share"]
    places = {"most": int(shares.argmax()), "least": int(shares.argmin())}
    change = (frame["end_ns"].map(shares) - frame["stolen_cpu_share"]).abs()
    if change.notna().any():
        before = int(change.argmax())
        places["before"] = before
        places["after"] = int(np.searchsorted(frame["start_ns"], frame["end_ns"].iloc[before]))
    rows = frame.iloc[list(places.values())].reset_index(drop=True)
    rows.insert(0, "extreme", list(places))
    return rows


@question(
    inputs=("coverage", LIVES, IN_BINS),
    columns=("start_ns", "end_ns", "on_cpu_ns", "task_ns", "stolen_ns", "stolen_share"),
    rows=0,
)
def over_time(timeline: Timeline, victim: Task | None = None, bin_ns: int | None = None) -> Answer:
    """What a victim's time on CPU went to over the capture, in adjacent bins.

    - bin_ns: The width of a bin. None: a round one of which the timeline has about 120.

    rolling_stolen() for windows of one bin: a row per bin, whose parts add up to on_cpu_ns. gaps:
    gaps in the recording of the CPUs that it was on.

    Source: sums(bin_ns), lives, and coverage.
    """
    width = round_width(timeline.duration_ns) if bin_ns is None else bin_ns
    victim = asked_or_chosen(timeline, victim)
    frame = windows(timeline, width, width, None, victim)
    known = victim is not None and not timeline.missing["on_cpu"]
    cpus = cpus_of(timeline, victim)
    [coverage] = rows(timeline, "coverage")
    gaps = coverage.loc[coverage["cpu"].isin(cpus), ["cpu", "start_ns", "end_ns", "why"]]
    # Overlaps count once.
    lost = lost_of_cpus(cpus, gaps.to_dict("records"), bounds_of(timeline).span)
    return Answer(
        frame,
        cpus=sorted(cpus),
        lost_ns=sum(lost.values()),
        spread=spread(frame) if known else None,
        gaps=gaps.reset_index(drop=True),
        gap_reasons=gaps["why"].astype(object).value_counts().rename("gap_count").reset_index(),
        victim=label_of(timeline, victim),
        window_ns=timeline.duration_ns,
        width_ns=width,
    )


def cpus_of(timeline: Timeline, victim: Task | None) -> list[int]:
    # The CPUs on which a victim ran, the one with most of its time first; None: any task.
    own = rows_of(of_tasks(timeline.sums_by_thief()), victim)
    by_cpu = own.groupby("cpu")["ns"].sum().sort_values(ascending=False, kind="stable")
    return [int(cpu) for cpu in by_cpu.index]


@over_time.plot(
    title=lambda answer: (
        f"What ran while {answer['victim'] or 'each task'} was on CPU, over the window"
    ),
    panels=lambda answer: [{}] if answer["cpus"] and answer["window_ns"] else [],
)
def _bins(ax: "plots.Axes", answer: Answer) -> None:
    window, width = bounds_of(answer.timeline).span, answer["width_ns"]
    plots.victim.stolen_over_time(ax, answer.frame, answer["gaps"], window, width, answer.start_ns)
