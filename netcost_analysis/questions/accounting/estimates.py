"""Three ways to estimate what the victim got, and why they differ."""

from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...capture.accounting import tick_ms
from ...capture.bundle import Bundle
from ...capture.manifest import Victim
from ...timeline.task import comm_of, label_of
from ...timeline.task_groups import named, recorded_victim
from ...timeline.timeline import Timeline
from ..got_shares import by_work_share, ticks_share, traced_share, undisturbed_share
from ..stolen_sums import stolen_sums
from .account_readings import NAN, cpu_counters
from .fitting import hidden_ns


@question(columns=("estimate", "got_share", "lost_share", "residual_share", "source"), rows=0)
def estimates(bundle: Bundle, timeline: Timeline) -> Answer:
    """Three estimates of the share of wall time that the bundle's victim got.

    The rows ticks, work and traced. The victim is an `openssl speed`, an attached service, or any
    victim whose manifest has user_s and wall_s. A figure is NaN where the bundle lacks it. Work
    below traced is hidden cost, which no pair of tracepoints encloses, and the slower pace of cold
    caches. Tracing slows the victim too. accounts has every estimate, with the reasons. Source: the
    victim's output and its baseline's, its times(2), and the sums of its run's timeline.
    """
    rows = {
        "ticks": (ticks_share(bundle), "user time over wall time, from times(2)"),
        "work": (by_work_share(bundle), "work per second against the baseline's"),
        "traced": (traced_share(bundle, timeline), "the victim's own segments over wall time"),
    }
    index = pd.Index(rows, name="estimate")
    frame = pd.DataFrame(list(rows.values()), index=index, columns=["got_share", "source"])
    got = frame["got_share"] = frame["got_share"].astype(float)
    frame.insert(1, "lost_share", 1 - got / (undisturbed_share(bundle) or NAN))
    frame.insert(2, "residual_share", got - got["work"])
    gap_share = float(got["traced"] - got["work"])
    return Answer(
        frame,
        gap=None if np.isnan(gap_share) else _gap(bundle, timeline, gap_share),
        run=_run(bundle, timeline),
    )


def _gap(bundle: Bundle, timeline: Timeline, gap_share: float) -> dict[str, Any]:
    # What the run lost beyond its trace: the hidden cost by one run alone; hidden_cost combines
    # several. A guest that does not know when its host ran others has no price.
    per_s, paused = cpu_counters(bundle).interrupts_per_s, bundle.may_be_paused
    each = hidden_ns(np.array([gap_share]), np.array([per_s])).item()
    return {
        "gap_share": gap_share,
        "ns": round(gap_share * timeline.duration_ns),
        "cpu_interrupts_per_s": per_s,
        "hidden_each_ns": NAN if paused else each,
        "may_be_paused": paused,
    }


def _run(bundle: Bundle, timeline: Timeline) -> dict[str, Any]:
    # Of the victim's run, and what the bundle lacks for the estimates.
    victim = bundle.victim or Victim()
    run_known = None not in (victim.start_ns, victim.end_ns)
    # Whether it was recorded from its start to its end.
    window, trace_ns = bundle.manifest.window, None
    starts = window.start_ns is None or window.start_ns <= (victim.start_ns or 0)
    is_whole = starts and (window.end_ns is None or (victim.end_ns or 0) <= window.end_ns)
    # Samples alone have no window.
    with suppress(CaptureError):
        trace_ns = None if run_known and is_whole else timeline.duration_ns
    return {
        "lacks": _lacks(bundle),
        "comm": bundle.victim_comm,
        "victim": victim.command,
        "other_task": _other_task(timeline),
        "victim_cpu": bundle.victim_cpu,
        "run_known": run_known,
        "trace_ns": trace_ns,
        "wall_s": victim.wall_s,
        "tick_ms": tick_ms(bundle.kernel_config),
    }


def _other_task(timeline: Timeline) -> str | None:
    # The task in question where it is not the bundle's victim. Without a ledger it is unknown.
    with suppress(CaptureError):
        names = [str(name) for name in stolen_sums(timeline).rows]
        recorded, given = recorded_victim(timeline, names), timeline.given_victim
        whole = timeline if given is None else timeline.capture.whole
        asked = timeline.victim if given is None else named(whole, given)
        if comm_of(whole, asked) != comm_of(timeline, recorded):
            return label_of(whole, asked)
    return None


def _lacks(bundle: Bundle) -> str | None:
    if bundle.victim is None:
        return "victim"
    if not bundle.work_rates and bundle.victim.wall_s is None:
        return "result"
    if bundle.baseline is None or not bundle.baseline.work_rates:
        return "work" if bundle.victim.attached else "baseline"
    return None


@estimates.plot(
    title="What the victim got, by ticks, trace and work done",
    height=1.7,
    panels=lambda answer: [{}] if answer.frame["got_share"].notna().any() else [],
)
def _bars(ax: Axes, answer: Answer) -> None:
    from ...plots.victim import estimates as draw

    draw(ax, answer.frame)
