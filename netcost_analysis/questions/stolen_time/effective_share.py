"""What a victim effectively had, beside what a monitor shows of it."""

import pandas as pd

from ... import plots
from ...answers.question import Answer, question
from ...capture.requires import unrecorded
from ...display.tables import first_row
from ...frames import to_frame
from ...timeline.aggregates import Aggregate, Plain
from ...timeline.by import By, victim_keys
from ...timeline.lives import LIVES, lived_by, lives_of
from ...timeline.owners import known_if, of_tasks, per_victim, victims_frame
from ...timeline.task import row_name
from ...timeline.timeline import Timeline
from ..stolen_sums import FIGURES, stolen_sums

_TICK = "irq_vectors:local_timer_entry"
_TICKS = Aggregate(lambda timeline: Plain("ticks"))


@question(
    inputs=(LIVES, _TICKS),
    columns=(
        *("comm", "effective_share", "monitor_share", "overcharged_share", "on_cpu_ns"),
        "task_ns",
    ),
)
def effective_share(timeline: Timeline, by: By = "comm") -> Answer:
    """The share of a CPU that each victim effectively had, against what a monitor shows.

    - by: What tells victims apart; "device" is as "comm".

    A row per victim, in the order of stolen(). Shares are of its lifetime as in lifetimes() (for a
    CPU: of the window); 1 is one CPU. monitor_from "counted" is what the kernel itself counted for
    the bundle's victim (accounts: task_stat) over its run, monitor_of_ns. The recording may cover
    only part of that run. "traced" is monitor_ns. effective_share is what the task itself ran, plus
    softirqs for its own sending and receiving; for ksoftirqd and similar threads also their network
    work. overcharged_share is below 0 if its own softirqs are not charged. softirq_ticks are the
    ticks that hit a softirq.

    Source: stolen(), the sums and lives; hardirqs and softirqs for the ticks.
    """
    lost, keys = victims_frame(stolen_sums(timeline, by).rows, FIGURES, by), victim_keys(by)
    frame = lost[["on_cpu_ns", "task_ns", "monitor_ns"]].copy()
    lived = lived_by(timeline, by).reindex(frame.index)
    frame = frame.join(lived[["lifetime_ns", "lifetime_max_ns"]])
    # No task has two CPUs at once.
    rows = of_tasks(timeline.sums_by_thief(by))
    twice = _twice(timeline, lived, keys)
    shortest, longest = _float(frame["lifetime_ns"]), _float(frame["lifetime_max_ns"])
    shortest, longest = shortest.where(shortest > 0), longest.where(longest > 0)
    unseen = lost["unknown_max_ns"] - lost["unknown_ns"]
    monitor = _float(frame["monitor_ns"]) - twice
    surely = (rows["context"] == "task") | rows["cost_class"].isin(["scheduled", "synchronous"])
    perhaps = (rows["context"] == "unknown") | (rows["cost_class"] == "stolen_or_synchronous")
    ran = per_victim(_of_its_own(rows), keys, frame.index) - twice
    # What was not recorded counts as time it ran itself, so it is at most that.
    taken = lost["stolen_unrecorded_ns"].clip(upper=ran)
    least = per_victim(rows[surely], keys, frame.index) - twice - taken
    most = per_victim(rows[surely | perhaps], keys, frame.index) - twice
    had, had_most = (_float(known_if(not timeline.missing["on_cpu"], ns)) for ns in (least, most))
    frame["monitor_share"] = monitor / longest
    frame["monitor_from"] = "traced"
    frame["monitor_of_ns"] = frame["lifetime_max_ns"]
    # No task runs longer than it is there.
    frame["monitor_max_share"] = ((monitor + unseen) / shortest).clip(upper=1)
    frame["effective_share"] = had / longest
    frame["effective_max_share"] = ((had_most + unseen) / shortest).clip(upper=1)
    _counted(timeline, frame, by)
    # Unseen time was charged to it too, unless all of it was stolen.
    least, most = monitor - had_most, monitor + unseen - had
    low = least / longest.where(least >= 0, shortest)
    high = (most / shortest.where(most >= 0, longest)).clip(upper=1)
    # The kernel's count includes unseen time, and time of the run that was not recorded, all of
    # which or none may have been charged.
    by_kernel = frame["monitor_from"] == "counted"
    run = _float(frame["monitor_of_ns"])
    counted_ns = frame["monitor_share"] * run
    least = (counted_ns - (run - shortest).clip(lower=0)).clip(lower=0) / shortest
    most = (counted_ns / shortest).clip(upper=1)
    frame["overcharged_share"] = low.mask(by_kernel, least - frame["effective_max_share"])
    frame["overcharged_max_share"] = high.mask(by_kernel, most - frame["effective_share"])
    # Without a figure there is no source.
    frame["monitor_from"] = frame["monitor_from"].where(frame["monitor_share"].notna(), None)
    ticks = to_frame(_TICKS(timeline)["ticks"]).astype({"comm": object})
    ticks = ticks.groupby(keys, dropna=False)[["ticks", "softirq_ticks"]].sum().astype("Int64")
    ticks = ticks.reindex(frame.index, fill_value=0)
    frame = frame.join(ticks.mask(ticks.notna()) if unrecorded(timeline.capture, _TICK) else ticks)
    frame["softirq_ticks_share"] = frame["softirq_ticks"] / frame["ticks"].mask(frame["ticks"] == 0)
    victim = row_name(timeline, timeline.victim)
    row = first_row(frame[frame.index == victim]) if keys == ["comm"] else None
    return Answer(frame, of_victim=row, victim=victim)


def _twice(timeline: Timeline, lived: pd.DataFrame, keys: list[str]) -> "pd.Series[int]":
    # The part of each victim's time on the timeline's CPUs that it is also shown on another CPU.
    if timeline.cpus is None or "cpu" in keys or timeline.missing["on_cpu"]:
        return lived["twice_ns"].fillna(0).astype("int64")
    of_task = ["tid", "comm"]
    stays = to_frame(lives_of(timeline)["twice"]).astype({"comm": object})
    there = stays[stays["cpu"].isin(timeline.cpus)].groupby(of_task)["twice_ns"].sum()
    # As in a lifetime: before its first event on a CPU a task counts as running itself.
    own = per_victim(_of_its_own(of_tasks(timeline.sums_by_thief())), of_task, there.index)
    there = there.clip(upper=own)
    return there.groupby(keys).sum().reindex(lived.index, fill_value=0).astype("int64")


def _of_its_own(rows: pd.DataFrame) -> pd.DataFrame:
    # Rows in which a task ran itself, other than a kernel thread's network work.
    return rows[(rows["context"] == "task") & (rows["cost_class"] != "scheduled")]


def _counted(timeline: Timeline, frame: pd.DataFrame, by: By) -> None:
    # The kernel's own count for the bundle's victim replaces what the trace predicts.
    from ..accounting.account_readings import wall_s
    from ..got_shares import charged_share

    bundle = timeline.capture.bundle
    if bundle is None or by == "cpu" or not timeline.has_victims_run:
        return
    pid, shown = bundle.victim and bundle.victim.pid, charged_share(bundle)
    tids = of_tasks(timeline.sums()).astype({"comm": object}).groupby("comm")["tid"].unique()
    if shown is None or list(tids.get(bundle.victim_comm, ())) != [pid]:
        return
    key = (pid, bundle.victim_comm) if by == "tid" else bundle.victim_comm
    frame.loc[[key], ["monitor_share", "monitor_max_share"]] = shown
    frame.loc[[key], "monitor_from"] = "counted"
    frame.loc[[key], "monitor_of_ns"] = round(wall_s(bundle) * 1e9)


def _float(values: "pd.Series[int]") -> "pd.Series[float]":
    return values.astype("Float64").astype("float64")


def _known(answer: Answer) -> list[dict[str, str]]:
    by_comm = answer.frame.index.names == ["comm"]
    return [{}] if by_comm and answer.frame["monitor_share"].notna().any() else []


effective_share.plot(
    title="What a monitor shows for each task, and what it had", height=2.9, panels=_known
)(lambda ax, answer: plots.stolen_time.monitor(ax, answer.frame, answer["victim"]))
