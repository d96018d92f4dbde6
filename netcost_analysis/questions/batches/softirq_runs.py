# The runs of __do_softirq, and what ended each.

from typing import TYPE_CHECKING

from ...answers.answer import Answer
from ...answers.question import question
from ...timeline.timeline import Timeline
from .kernel_limits import MAX_SOFTIRQ_RESTART, limits_of
from .paired import INPUTS, numbered, paired

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KIND = ["in_kthread", "rounds_made", "still_pending", "end_reason"]


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    inputs=INPUTS,
    columns=("cpu", "start_ns", "wall_ns", "rounds_made", "packets", "comm", "end_reason"),
    rows=0,
)
def softirq_runs(timeline: Timeline, hz: int | None = None) -> Answer:
    """The runs of __do_softirq: how many rounds each made, and what ended it.

    A row per run; of more than 200,000 those that began first. hz is that of the bundle's kernel
    configuration unless given. end_reason is "unknown" where no softirq_raise says what was
    pending. `by_kind`: how many runs there were of each kind, of all. Source: softirqs and
    hardirqs.
    """
    tables = paired(timeline, hz)
    kinds = tables["run_counts"].sort_values(_KIND, ignore_index=True)
    outside = kinds[~kinds["in_kthread"]]
    several = outside.loc[outside["rounds_made"] > 1, "run_count"]
    number, outside_count = int(kinds["run_count"].sum()), int(outside["run_count"].sum())
    return Answer(
        numbered(tables, "runs"),
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


@softirq_runs.plot(
    title="Rounds of softirqs, back to back",
    height=2.5,
    panels=lambda answer: [{}] if len(answer.frame) else [],
)
def _rounds(ax: "Axes", answer: Answer) -> None:
    from ...plots.softirqs import run_rounds

    run_rounds(ax, answer["by_kind"], MAX_SOFTIRQ_RESTART)
