# How the scheduler treated tasks: how often each left a CPU and why, and how long it waited for
# one.


import pandas as pd

from ... import plots
from ...answers.question import Answer, question
from ...frames import most_first, to_frame
from ...stats.histogram import Histogram, spread_of
from ...timeline.aggregates import Grouped, in_window
from ...timeline.by import TaskBy, check_by, victim_keys
from ...timeline.group import KNOWN, Groups, Range
from ...timeline.lives import LIVES, lived_by, lives_of
from ...timeline.owners import plain_names
from ...timeline.reading import once
from ...timeline.timeline import Timeline
from ...timeline.traffic import OF_EXCERPT
from .traffic import endpoints

# Below this bit all kernels show the same states; the bit for "preempted", above it, has moved four
# times.
_FIRST_MOVING_BIT = 0x100
# All but the idle task.
OF_TASKS: Range = (1, None)
_SWITCHED = Grouped(
    "slices",
    by=("cpu", "tid", "comm", "prev_state"),
    where=in_window("out_ns", tid=OF_TASKS, prev_state=KNOWN),
)
# The ledger reads the bit for "preempted" from the recorded format: a task that left its CPU
# runnable waits from then on, and no wake-up began that wait.
LEFT = Grouped(
    "slices",
    by=("left_state", "is_woken"),
    where={"left_state": (_FIRST_MOVING_BIT, None), "wait_ns": KNOWN},
)


@question(needs=("sched:sched_switch",), inputs=(_SWITCHED, LEFT, OF_EXCERPT))
def context_switches(timeline: Timeline, by: TaskBy = "tid") -> Answer:
    """How often each task left a CPU, and whether it did so voluntarily.

    A row per task, or per CPU, most switches first. Voluntary is as /proc/PID/status and pidstat -w
    count it (kernel/sched/core.c, __schedule: nvcsw where the task was not runnable). undecided
    counts switches whose recorded state does not tell. The idle task is left out. `tasks`: the rows
    of client and server where two tasks talk, else of the two that switched most. Source: slices.
    """
    check_by(by, TaskBy)
    keys = victim_keys(by)
    rows = _SWITCHED(timeline).frame.rename(columns={"slices": "switches"})
    rows["comm"] = plain_names(rows["comm"])
    kind = kinds_of(rows["prev_state"].astype("int64"), LEFT(timeline))
    for name in ("voluntary", "involuntary", "undecided"):
        rows[name] = rows["switches"].where(kind == name, 0)
    names = ["switches", "voluntary", "involuntary", "undecided"]
    frame = rows.groupby(keys, dropna=False)[names].sum()
    seconds = timeline.duration_ns / 1e9 or float("nan")
    for name in names[:3]:
        frame[f"{name}_per_s"] = frame[name] / seconds
    frame, tids = most_first(frame.reset_index(), "switches"), list(endpoints(timeline))
    tasks = frame[:0]
    if by == "tid":
        talking = frame[frame["tid"].isin(tids)]
        tasks = (talking if len(talking) else frame[:2]).drop_duplicates("tid")
    return Answer(frame, tasks=tasks, endpoints=tids)


def kinds_of(state: "pd.Series[int]", left: Groups) -> "pd.Series[str]":
    # Why a task left a CPU, by the state that was recorded. left: LEFT, which decides for the
    # states that it has.
    slept = left.frame["is_woken"].astype(bool)
    decided = {int(bits): "voluntary" for bits in left.frame["left_state"][slept]}
    decided |= {int(bits): "involuntary" for bits in left.frame["left_state"][~slept]}
    kind = state.map(decided).astype(object).fillna("undecided")
    kind = kind.mask(state < _FIRST_MOVING_BIT, "voluntary")
    return kind.mask(state == 0, "involuntary")


@question(
    needs=("sched:sched_switch",),
    inputs=(LIVES, OF_EXCERPT),
    columns=("tid", "comm", "cpu", "waited_after", "wait_share", "ns", "waits", "median_ns"),
)
def run_queue(timeline: Timeline, by: TaskBy = "tid") -> Answer:
    """How long runnable tasks waited for a CPU, and why.

    A row per task, or per CPU that it then got, and reason (waited_after), most ns first. A wait
    counts whole, where it ended; waited_ns is the part of it within the window. The times of
    "unknown" waits are NA: the first in the recording, waits across a loss, or all if the CPUs'
    clocks disagree. Shares are of the lifetime, as in lifetimes(); by "cpu" of the window. `tasks`:
    the known rows of client and server if two tasks talk, else of the two that waited longest.
    Source: slices, and lives.
    """
    check_by(by, TaskBy)
    keys = victim_keys(by)
    sums, lengths = _waits(timeline, tuple(keys))
    frame = sums.reset_index()
    of = [*keys, "waited_after"]
    for name in ("ns", "waited_ns"):
        frame[name] = frame[name].astype("Int64").where(frame["known"] > 0)
    spread = spread_of(lengths)
    frame = frame.join(spread, on=of)[[*of, "waits", "ns", *spread, "waited_ns"]]
    frame = most_first(frame, "ns")
    lived = lived_by(timeline, by).astype("float64")
    at = pd.MultiIndex.from_frame(frame[keys]) if len(keys) > 1 else pd.Index(frame[keys[0]])
    ns = frame["waited_ns"].astype("Float64").astype("float64")
    for name, whole in (("wait_share", "lifetime_max_ns"), ("wait_max_share", "lifetime_ns")):
        time = lived[whole].reindex(at).reset_index(drop=True)
        frame[name] = ns / time.where(time > 0)
    tids = list(endpoints(timeline))
    return Answer(frame, tasks=_waits_of(frame, tids) if by == "tid" else frame[:0], endpoints=tids)


def _waits_of(frame: pd.DataFrame, tids: list[int]) -> pd.DataFrame:
    # Of each task the rows of the name under which it waited longest.
    known = frame["tid"].dropna().unique().tolist()
    chosen = [tid for tid in tids if tid in known] or known[:2]
    own = frame[frame["tid"].isin(chosen)]
    own = own[(own["comm"] == own.groupby("tid")["comm"].transform("first")) & own["ns"].notna()]
    return own.sort_values("tid", key=lambda tid: tid.map(chosen.index), kind="stable")


@once
def _waits(timeline: Timeline, keys: tuple[str, ...]) -> tuple[pd.DataFrame, Histogram]:
    # By keys and waited_after: how many waits, how many of known length, and of these ns and
    # waited_ns (within the window); and the lengths of the known ones.
    rows = to_frame(lives_of(timeline)["waits"])
    rows["comm"], rows["waited_after"] = map(plain_names, (rows["comm"], rows["waited_after"]))
    of = [*keys, "waited_after"]
    lengths = to_frame(lives_of(timeline)["wait_lengths"])
    rows = rows[rows["cpu"].isin(timeline.summary["cpus"])]
    rows["known"] = lengths.groupby("group")["count"].sum().reindex(rows.index, fill_value=0)
    sums = rows.groupby(of, dropna=False)[["waits", "known", "ns", "waited_ns"]].sum()
    known = rows[rows["known"] > 0]
    counts = lengths.merge(known[of], left_on="group", right_index=True)
    counts = counts.groupby([*of, "low", "high"], dropna=False)[["count", "total"]].sum()
    totals = known.groupby(of, dropna=False).agg(
        count=("known", "sum"), total=("ns", "sum"), least=("least", "min"), most=("most", "max")
    )
    is_binned = bool((lengths["high"] > lengths["low"]).any())
    return sums, Histogram(counts, totals.astype("int64"), is_binned)


@run_queue.plot(
    title="How long tasks waited for a CPU",
    height=2.8,
    panels=lambda answer: [{}] if len(answer["tasks"]) else [],
)
def _longer(ax: "plots.Axes", answer: Answer) -> None:
    _, lengths = _waits(answer.timeline, ("tid", "comm"))
    counts = lengths.counts.reset_index()
    plots.tasks.waits(ax, counts[counts["tid"].isin(answer["tasks"]["tid"])])


_RATES = ("switches_per_s", "voluntary_per_s", "involuntary_per_s", "wake_ups_per_s")


@question(
    needs=("sched:sched_switch",),
    inputs=(*context_switches.grouped, *run_queue.grouped, OF_EXCERPT),
    columns=("side", "tasks", *_RATES),
)
def scheduler_rates(timeline: Timeline) -> Answer:
    """How often the scheduler switched, preempted and woke client, server and others.

    `sides`: a row for client, server and all other tasks; `rates`: the same for each task.
    Preemptions are the involuntary switches; wake-ups are those of sleepers that then ran. If no
    two tasks are seen to talk, all are "other". Source: context_switches() and run_queue().
    """
    frame = context_switches(timeline).frame[["tid", "comm", *_RATES[:3]]]
    waits = run_queue(timeline).frame
    for name, column, reason in (
        ("wake_ups_per_s", "waits", "wake-up"),
        ("woken_wait_ns", "ns", "wake-up"),
        ("runnable_wait_ns", "ns", "runnable"),
    ):
        some = waits[waits["waited_after"] == reason][["tid", "comm", column]]
        frame = frame.merge(some.rename(columns={column: name}), how="outer", on=["tid", "comm"])
    frame["wake_ups_per_s"] /= timeline.duration_ns / 1e9 or float("nan")
    frame[list(_RATES)] = frame[list(_RATES)].astype("float64").fillna(0.0)
    times = ["woken_wait_ns", "runnable_wait_ns"]
    frame[times] = frame[times].astype("Int64").fillna(0)
    pair = dict(zip(endpoints(timeline), ("client", "server"), strict=False))
    frame.insert(0, "side", frame["tid"].map(pair).astype(object).fillna("other"))
    groups = frame.groupby("side")
    sides = groups[[*_RATES, *times]].sum()
    sides.insert(0, "tasks", groups["tid"].nunique())
    order = [side for side in ("client", "server", "other") if side in sides.index]
    rates = most_first(frame, "switches_per_s")
    return Answer(sides=sides.loc[order].reset_index(), rates=rates)
