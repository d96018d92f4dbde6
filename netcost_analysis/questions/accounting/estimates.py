"""Three ways to estimate what the victim got, and why they differ."""

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...capture.accounting import tick_ms
from ...capture.manifest import Victim
from ...timeline.task import comm_of, label_of
from ...timeline.task_groups import recorded_victim
from ...units import absent
from ..got_shares import by_work_share, ticks_share, traced_share, undisturbed_share
from ..losses import losses
from .counts import NAN, counted
from .fitting import hidden_ns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...capture.bundle import Bundle
    from ...timeline.timeline import Timeline


@question(columns=("estimate", "got_share", "lost_share", "residual_share", "source"), rows=0)
def estimates(bundle: "Bundle", timeline: "Timeline") -> pd.DataFrame:
    """Three estimates of the share of wall time that the bundle's victim got.

    - bundle: One whose victim is `openssl speed`, a service that was attached to, or any of which
      the manifest has user_s and wall_s.
    - timeline: Of the victim's run on its CPU: Capture.victim_timeline().

    The rows ticks, work, traced: got_share, lost_share (0 to 1), residual_share (got_share less
    that of work), all NaN where the bundle cannot say; source (text). Of a service shares are of
    one CPU, and lost_share is of what its threads ran in its baseline.

    ticks is user time by times(2) over wall time: the kernel's accounting. work is blocks per
    second over those of the baseline: what the victim got done. traced is the victim's own segments
    over wall time: what interrupts on top of it, and waiting for its CPU, left. Work below traced
    is hidden cost, which no pair of tracepoints encloses, and the slower pace of cold caches.
    Tracing slows the victim too. accounts() has every estimate there is, with the reasons.

    Source: the victim's output and its baseline's, its times(2), the timeline's sums.
    """
    rows = {
        "ticks": (ticks_share(bundle), "user time over wall time, as times(2) has it"),
        "work": (by_work_share(bundle), "work per second against the baseline's"),
        "traced": (traced_share(bundle, timeline), "the victim's own segments over wall time"),
    }
    frame = pd.DataFrame.from_dict(
        rows, orient="index", columns=["got_share", "source"]
    ).rename_axis("estimate")
    frame["got_share"] = frame["got_share"].astype(float)
    frame.insert(1, "lost_share", 1 - frame["got_share"] / (undisturbed_share(bundle) or NAN))
    frame.insert(2, "residual_share", frame["got_share"] - frame["got_share"]["work"])
    return frame


class Gap(NamedTuple):
    """What a traced run lost beyond its trace.

    gap_share: by work, beyond traced; ns: the same of the run; cpu_interrupts_per_s: by the
    kernel's counters; hidden_each_ns: for each of them. The last two are NaN where it did not
    count. may_be_paused: it is a guest that does not know when its host ran others; hidden_each_ns
    is NaN then.
    """

    gap_share: float
    ns: int
    cpu_interrupts_per_s: float
    hidden_each_ns: float
    may_be_paused: bool


def gap(bundle: "Bundle", timeline: "Timeline", traced: float, work: float) -> Gap:
    """The hidden cost by one run alone; see hidden_cost for what several say together.

    timeline: of the victim's run on its CPU. traced, work: got_share of estimates().
    """
    per_s = counted(bundle).interrupts_per_s
    each = hidden_ns(np.array([traced - work]), np.array([per_s])).item()
    if paused := bundle.may_be_paused:
        each = NAN
    return Gap(traced - work, round((traced - work) * timeline.duration_ns), per_s, each, paused)


class Differences(NamedTuple):
    """What the bundle lacks for the estimates, and why they differ.

    lacks: "victim", "result", "baseline" or, of a service, "work", None for nothing. comm, command:
    the victim's; other: the task that the page is about, None where it is the victim. cpu: the one
    that the victim was pinned to. any: whether there is an estimate. run_known: whether the bundle
    says when the victim ran. trace_ns, wall_s: what was traced, None where that was the victim's
    run and no more or less; how long that was. tick_ms: None where the kernel's configuration does
    not say. ticks_residual_share, None where unknown; gap: None where traced or work is unknown.
    """

    lacks: str | None
    comm: str | None
    command: str | None
    other: str | None
    cpu: int | None
    any: bool
    run_known: bool
    trace_ns: int | None
    wall_s: float | None
    ticks: float | None
    tick_ms: float | None
    ticks_residual_share: float | None
    gap: Gap | None
    work_lost_share: float
    traced_lost_share: float


@estimates.totals
def _totals(answer: "Answer") -> dict[str, Gap | None]:
    got = answer.frame["got_share"]
    if absent(got["traced"]) or absent(got["work"]):
        return {"gap": None}
    traced, work = float(got["traced"]), float(got["work"])
    return {"gap": gap(answer.sources["Bundle"], answer.timeline, traced, work)}


@estimates.figures
def differences(answer: "Answer") -> Differences:
    bundle, timeline = answer.sources["Bundle"], answer.timeline
    victim, rows = bundle.victim or Victim(), answer.frame
    got, lost = rows["got_share"], rows["lost_share"]
    ticks, residual = got["ticks"], rows["residual_share"]["ticks"]
    return Differences(
        lacks=_lacks(bundle),
        comm=bundle.victim_comm,
        command=victim.command,
        other=_other(answer),
        cpu=bundle.victim_cpu,
        any=bool(got.notna().any()),
        run_known=None not in (victim.start_ns, victim.end_ns),
        trace_ns=None if _whole(bundle) else _duration_ns(timeline),
        wall_s=victim.wall_s,
        ticks=None if absent(ticks) else float(ticks),
        tick_ms=tick_ms(bundle.kernel_config),
        ticks_residual_share=None if absent(residual) else float(residual),
        gap=answer.parts["gap"],
        work_lost_share=float(lost["work"]),
        traced_lost_share=float(lost["traced"]),
    )


def _duration_ns(timeline: "Timeline") -> int | None:
    # Samples alone have no window.
    with suppress(CaptureError):
        return timeline.duration_ns
    return None


def _whole(bundle: "Bundle") -> bool:
    # Was the victim's run recorded from its start to its end, and is it known when that was?
    victim, window = bundle.victim or Victim(), bundle.manifest.window
    if victim.start_ns is None or victim.end_ns is None:
        return False
    before = window.start_ns is None or window.start_ns <= victim.start_ns
    return before and (window.end_ns is None or victim.end_ns <= window.end_ns)


def _other(answer: "Answer") -> str | None:
    page, run = answer.whole, answer.timeline
    # Without a ledger it is unknown who lost anything.
    with suppress(CaptureError):
        recorded = recorded_victim(run, [str(name) for name in losses(run).victims])
        if comm_of(page, page.victim) != comm_of(run, recorded):
            return label_of(page, page.victim)
    return None


def _lacks(bundle: "Bundle") -> str | None:
    if bundle.victim is None:
        return "victim"
    if not bundle.work_rates and bundle.victim.wall_s is None:
        return "result"
    if bundle.baseline is None or not bundle.baseline.work_rates:
        return "work" if bundle.victim.attached else "baseline"
    return None


@estimates.plot(
    title="What the victim got by ticks, by trace, by work done",
    height=1.7,
    panels=lambda answer: [{}] if answer.frame["got_share"].notna().any() else [],
)
def _bars(ax: "Axes", answer: "Answer") -> None:
    from ...plots.estimates import estimates as draw

    draw(ax, answer.frame)
