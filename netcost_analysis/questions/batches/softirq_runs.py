# The runs of __do_softirq, and what ended each.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...timeline.timeline import Timeline
from .kernel_limits import MAX_SOFTIRQ_RESTART, limits_of
from .paired import INPUTS, paired

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    inputs=INPUTS,
    columns=("cpu", "start_ns", "wall_ns", "rounds_made", "packets", "comm", "end_reason"),
    rows=0,
)
def softirq_runs(timeline: Timeline, hz: int | None = None) -> pd.DataFrame:
    """The runs of __do_softirq: how many rounds each made, and what ended it.

    - hz: Ticks per second, None for those of the bundle's kernel configuration.

    A row per run: cpu, call, start_ns, end_ns, wall_ns, in_kthread, tid, comm, rounds_made,
    softirqs, net_rx, packets, still_pending, end_reason. Of more than 200,000 those that began
    first.

    end_reason is "nothing pending" or, with something pending, "rounds" (the tenth round was over),
    "time" (the limit of msecs_to_jiffies(2) must have passed), "time or need_resched" (it may have
    passed, or a task had to run), "need_resched" (it cannot have passed), or "unknown" where no
    softirq_raise says what was pending (still_pending is NA then). Source: softirqs and hardirqs.
    """
    return paired(timeline, hz).runs


@softirq_runs.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # by_kind: how many runs, of all. by_reason, in_all: sums of them.
    hz = answer.options.get("hz")
    runs, limits = paired(answer.timeline, hz).run_counts, limits_of(answer.capture, hz=hz)
    outside = runs[~runs["in_kthread"]]
    number, own = int(runs["run_count"].sum()), int(outside["run_count"].sum())
    in_all = {
        "run_count": number,
        "outside_count": own,
        "several_rounds_count": int(outside.loc[outside["rounds_made"] > 1, "run_count"].sum()),
        "most_rounds": int(outside["rounds_made"].max()) if len(outside) else 0,
        "in_kthread_count": number - own,
    }
    by_reason = runs.groupby("end_reason")["run_count"].sum().reset_index()
    return {"kernel_limits": limits, "by_kind": runs, "by_reason": by_reason, "in_all": in_all}


@softirq_runs.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    limits, reasons = answer.parts["kernel_limits"], answer.tables["by_reason"]
    return {
        **answer.parts["in_all"],
        "reasons": dict(zip(reasons["end_reason"], reasons["run_count"], strict=True)),
        "jiffies": limits.softirq_jiffies,
        "tick_ns": limits.tick_ns,
        "listed": len(answer.frame),
    }


@softirq_runs.plot(
    title="Rounds of softirqs, back to back",
    height=2.5,
    panels=lambda answer: [{}] if len(answer.frame) else [],
)
def _rounds(ax: "Axes", answer: "Answer") -> None:
    from .plots import run_rounds

    run_rounds(ax, answer.tables["by_kind"], MAX_SOFTIRQ_RESTART)
