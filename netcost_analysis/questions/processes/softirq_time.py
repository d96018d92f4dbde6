# Softirq time by the task in whose context it ran.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...timeline.aggregates import Grouped
from ...timeline.by import TaskBy, check_by, victim_keys
from ...timeline.group import KNOWN
from ...timeline.owners import plain_names
from ...timeline.timeline import Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The action of a poll outside any softirq.
NAPI_THREAD = "NAPI thread"
RPS_DISPATCH = "RPS dispatch"
NETWORK = ("NET_RX", "NET_TX", RPS_DISPATCH, NAPI_THREAD)
_TASK = ("cpu", "tid", "comm", "cost_class")
_SOFTIRQS = Grouped(
    "softirqs",
    by=(*_TASK, "action", "is_dispatch"),
    sums=("polls", "packets", "self_ns", "outside_polls_ns"),
)
_THREADS = Grouped(
    "polls", by=_TASK, sums=("work", "self_ns"), where={"in_softirq": (0, 0), "self_ns": KNOWN}
)
_POLLED = Grouped("polls", by=("in_softirq",))
BY_TASK = (_SOFTIRQS, _THREADS, _POLLED)


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    inputs=BY_TASK,
    columns=("tid", "comm", "cpu", "action", "cost_class", "ns", "softirq_share"),
)
def softirq_time(timeline: Timeline, by: TaskBy = "tid") -> Answer:
    """Softirq time by the task in whose context it ran, by action and cost class.

    A row per task, or per CPU, action and cost_class, most ns first: own time of the softirqs,
    without the interrupts on top of them. Polls of NAPI threads, which run in no softirq, are rows
    of action "NAPI thread". The idle task has rows too, so ns adds up to all softirq time of the
    timeline. Source: softirqs and polls.
    """
    check_by(by, TaskBy)
    groups = _summed(timeline).groupby([*victim_keys(by), "action", "cost_class"], dropna=False)
    frame = groups[["softirqs", "polls", "packets", "ns", "poll_ns"]].sum().reset_index()
    whole = int(frame["ns"].sum())
    frame["softirq_share"] = frame["ns"] / whole if whole else float("nan")
    frame = frame.sort_values("ns", ascending=False, kind="stable", ignore_index=True)
    span_ns = timeline.duration_ns * len(timeline.summary["cpus"])
    return Answer(frame, in_all={"ns": whole, **_shares(frame, whole, span_ns)})


def _shares(frame: pd.DataFrame, whole: int, span_ns: int) -> dict[str, Any]:
    # Shares of all softirq time, and the task in whose time most of the network's ran: most_tid is
    # None where unknown, most_ns 0 where the network had none, or rows name no task.
    network = frame[frame["action"].isin(NETWORK).to_numpy()]
    ns, tid, comm, most = int(network["ns"].sum()), None, "", 0
    if ns and "tid" in frame:
        by_task = network.groupby(["tid", "comm"], dropna=False)["ns"].sum().reset_index()
        tid, comm, most = by_task.nlargest(1, "ns").iloc[0]
    return {
        "cpu_share": whole / span_ns if span_ns else float("nan"),
        "network_of_softirqs_share": ns / whole if whole else 0.0,
        "most_tid": None if pd.isna(tid) else int(tid),
        "most_comm": comm,
        "most_ns": int(most),
        "most_share": most / ns if ns else 0.0,
    }


def _summed(timeline: Timeline) -> pd.DataFrame:
    # Softirqs, and NAPI threads' polls, in the same columns.
    inside, outside = _SOFTIRQS(timeline).frame.copy(), _THREADS(timeline).frame
    # Where no poll was recorded, nothing tells a dispatch from a softirq that polled.
    dispatch = inside["is_dispatch"] & (len(_POLLED(timeline).frame) > 0)
    inside["action"] = inside["action"].mask(dispatch, RPS_DISPATCH)
    inside["poll_ns"] = inside["ns"] - inside["outside_polls_ns"]
    outside = outside.assign(action=NAPI_THREAD, softirqs=0, poll_ns=outside["ns"])
    both = pd.concat([inside, outside], ignore_index=True)
    return both.assign(**{name: plain_names(both[name]) for name in ("comm", "cost_class")})


@softirq_time.plot(
    title="Softirq time by the task in whose context it ran",
    height=lambda answer: 1.3 + 0.25 * min(answer.frame["tid"].nunique(), 10),
    panels=lambda answer: [{}] if len(answer.frame) and "tid" in answer.frame else [],
)
def _bars(ax: "Axes", answer: Answer) -> None:
    from .plots import softirqs_by_task

    softirqs_by_task(ax, answer.frame, NETWORK)
