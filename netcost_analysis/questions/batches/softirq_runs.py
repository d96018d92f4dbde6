# Back-to-back softirqs: which of them are rounds of one run of __do_softirq, and what ended it.

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...capture.requires import unrecorded
from ...spans import Flags, Ints, spans_of
from ...timeline.timeline import Timeline
from ..inputs import rows
from ..question import question
from .common import int64, plain
from .kernel_limits import KernelLimits, limits_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..answer import Answer

# kernel/softirq.c, the same since 3.9.
MAX_SOFTIRQ_RESTART = 10
# A round follows the one before at once: what comes later than this was called anew. An
# interrupt's exit is as near.
AT_ONCE_NS = 20_000


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    inputs=("softirqs", "hardirqs"),
    main_columns=("cpu", "start_ns", "wall_ns", "rounds_made", "packets", "comm", "end_reason"),
    rows=0,
)
def softirq_runs(timeline: Timeline, hz: int | None = None) -> pd.DataFrame:
    """The runs of __do_softirq: how many rounds each made, and what ended it.

    Parameters
    ----------
    timeline : Timeline
        The window and the CPUs in question.
    hz : int, optional
        Ticks per second, None for those of the bundle's kernel configuration.

    Returns
    -------
    pandas.DataFrame
        A row per run: cpu, call, start_ns, end_ns, wall_ns, in_kthread, tid, comm, rounds_made,
        softirqs, net_rx, packets, still_pending, end_reason.

    Raises
    ------
    ArgumentError
        For an hz below 1.
    MissingEventsError
        Without one of the events it needs.

    Notes
    -----
    end_reason is "nothing pending" or, with something pending, "rounds" (the tenth round was
    over), "time" (the limit of msecs_to_jiffies(2) must have passed), "time or need_resched" (it
    may have passed, or a task had to run), "need_resched" (it cannot have passed), or "unknown"
    where no softirq_raise says what was pending (still_pending is NA then). Source: softirqs and
    hardirqs.
    """
    limits = limits_of(timeline.capture, hz=hz)
    raises = not unrecorded(timeline.capture, "irq:softirq_raise")
    softirqs, hardirqs = rows(timeline, "softirqs", "hardirqs")
    whole, runs = runs_of(softirqs, hardirqs)
    pending = _pending(whole, runs)
    runs["still_pending"] = pd.array(pending if raises else [pd.NA] * len(runs), dtype="boolean")
    stopped = stopped_by(runs["rounds_made"], runs["wall_ns"], limits)
    runs["end_reason"] = np.where(pending, stopped, "nothing pending") if raises else "unknown"
    return runs


def runs_of(softirqs: pd.DataFrame, hardirqs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    # The softirqs that were seen whole, with call and round, and their runs, in order of call.
    rows = _whole(softirqs)
    rows = rows.merge(rounds_of(softirqs, hardirqs), on=["cpu", "ordinal"], how="left")
    rows["is_net_rx"] = rows["action"] == "NET_RX"
    groups = rows.groupby("call", sort=True)
    start_ns, end_ns = groups["entry_ns"].min(), groups["exit_ns"].max()
    runs = pd.DataFrame(
        {
            "cpu": groups["cpu"].first(),
            "call": groups["call"].first(),
            "start_ns": start_ns.astype("int64"),
            "end_ns": end_ns.astype("int64"),
            "wall_ns": (end_ns - start_ns).astype("int64"),
            "in_kthread": groups["in_kthread"].first().astype(bool),
            "tid": groups["tid"].first().astype("Int64"),
            "comm": groups["comm"].first(),
            "rounds_made": groups["round"].max().astype("int64"),
            "softirqs": groups.size().astype("int64"),
            "net_rx": groups["is_net_rx"].sum().astype("int64"),
            "packets": groups["packets"].sum().astype("Int64"),
        }
    ).reset_index(drop=True)
    return rows, runs


def _whole(softirqs: pd.DataFrame) -> pd.DataFrame:
    rows = plain(softirqs[softirqs["entry_ns"].notna() & softirqs["exit_ns"].notna()])
    return rows.sort_values(["cpu", "entry_ns", "ordinal"], kind="stable", ignore_index=True)


def rounds_of(softirqs: pd.DataFrame, hardirqs: pd.DataFrame) -> pd.DataFrame:
    # Run and round of each softirq that was seen whole: cpu, ordinal, call (the run's number, of
    # all CPUs), round (from 1). A softirq goes on with the run before it on its CPU when the same
    # task is current, it had been raised before that one's exit, and it begins at once. pending is
    # read once a round, and served in order of the vectors: what has no higher number than the one
    # before it, or was raised after the round began, is of the next round. The eleventh is of the
    # next run.
    rows = _whole(softirqs)
    if not len(rows):
        return pd.DataFrame(
            {"cpu": [], "ordinal": [], "call": [], "round": []}, dtype="int64"
        ).astype({"cpu": softirqs["cpu"].dtype})
    cpu, entry, leave = rows["cpu"].to_numpy(), int64(rows["entry_ns"]), int64(rows["exit_ns"])
    vec, raised = rows["vec"].to_numpy(), int64(rows["raise_ns"])
    same = np.zeros(len(rows), dtype=bool)
    tid = int64(rows["tid"])
    same[1:] = (cpu[1:] == cpu[:-1]) & (tid[1:] == tid[:-1])
    gap = np.zeros(len(rows), dtype="int64")
    gap[1:] = entry[1:] - leave[:-1]
    at_exit = at_an_exit(rows)
    before = np.zeros(len(rows), dtype=bool)
    alone = at_exit & ~_interrupted(cpu, entry - gap, entry, hardirqs)
    before[1:] = np.where(raised[1:] >= 0, raised[1:] <= leave[:-1], alone[1:])
    goes_on = same & before & (gap <= AT_ONCE_NS)
    group = np.cumsum(~goes_on) - 1
    fresh = goes_on.copy()
    fresh[1:] &= (vec[1:] <= vec[:-1]) | (raised[1:] > entry[:-1])
    # Once more, against the begin of the round instead of the softirq before.
    for _ in range(2):
        opened = np.maximum.accumulate(np.where(fresh | ~goes_on, np.arange(len(rows)), 0))
        fresh |= goes_on & (raised > entry[opened])
    total = np.cumsum(fresh)
    first = np.flatnonzero(~goes_on)
    number = total - total[first][group]
    call = number // MAX_SOFTIRQ_RESTART
    new_run = ~goes_on
    new_run[1:] |= call[1:] != call[:-1]
    return pd.DataFrame(
        {
            "cpu": rows["cpu"],
            "ordinal": rows["ordinal"],
            "call": np.cumsum(new_run) - 1,
            "round": number % MAX_SOFTIRQ_RESTART + 1,
        }
    )


def at_an_exit(rows: pd.DataFrame) -> Flags:
    # Without raises: softirqs that an interrupt's exit or ksoftirqd runs, as the preempt count
    # says. Where there is none (texts), those on an idle task: it runs none of its own accord.
    idle = (rows["origin"] == "unknown") & (rows["tid"] == 0).fillna(False)
    return ((rows["origin"] == "irq") | idle).to_numpy(dtype=bool)


def _interrupted(cpu: Ints, start: Ints, end: Ints, hardirqs: pd.DataFrame) -> Flags:
    # Whether an interrupt began and ended between start and end.
    whole = hardirqs[hardirqs["entry_ns"].notna() & hardirqs["exit_ns"].notna()]
    whole = whole.sort_values(["cpu", "exit_ns"], kind="stable")
    last = spans_of(whole, "exit_ns", "exit_ns", "cpu").last_begun(cpu, end)
    found = last >= 0
    found[found] = int64(whole["entry_ns"])[last[found]] >= start[found]
    return found


def _pending(rows: pd.DataFrame, runs: pd.DataFrame) -> Flags:
    # Whether a softirq of a later run had been raised before the run's end.
    pending = np.zeros(len(runs), dtype=bool)
    raises = rows[rows["raise_ns"].notna()]
    raised, own = int64(raises["raise_ns"]), raises["call"].to_numpy()
    run = spans_of(runs, group="cpu").last_begun(raises["cpu"].to_numpy(), raised)
    ends, calls = int64(runs["end_ns"]), runs["call"].to_numpy()
    pending[run[(run >= 0) & (raised <= ends[run]) & (calls[run] < own)]] = True
    return pending


def stopped_by(
    rounds: "pd.Series[int]", ns: "pd.Series[int]", limits: KernelLimits
) -> "np.ndarray[tuple[int], np.dtype[np.object_]]":
    # Which limit ended runs after which something was pending.
    least, most = limits.softirq_limit_ns
    by_time = np.where(
        ns >= most, "time", np.where(ns > least, "time or need_resched", "need_resched")
    )
    return np.where(rounds == MAX_SOFTIRQ_RESTART, "rounds", by_time).astype(object)


@softirq_runs.figures
def _figures(answer: "Answer[pd.DataFrame]") -> dict[str, Any]:
    runs = answer.frame
    limits = limits_of(answer.capture, hz=answer.options.get("hz"))
    outside = runs[~runs["in_kthread"]]
    return {
        "runs": len(runs),
        "outside": len(outside),
        "several": len(outside[outside["rounds_made"] > 1]),
        "most_rounds": int(outside["rounds_made"].max()) if len(outside) else 0,
        "in_kthread": len(runs[runs["in_kthread"]]),
        "reasons": runs["end_reason"].value_counts().to_dict(),
        "jiffies": limits.softirq_jiffies,
        "tick_ns": limits.tick_ns,
    }


@softirq_runs.plot(
    title="Rounds of softirqs, back to back",
    height=2.5,
    panels=lambda answer: [{}] if len(answer.frame) else [],
)
def _rounds(ax: "Axes", answer: "Answer[pd.DataFrame]") -> None:
    from .plots import run_rounds

    run_rounds(ax, answer.frame, MAX_SOFTIRQ_RESTART)
