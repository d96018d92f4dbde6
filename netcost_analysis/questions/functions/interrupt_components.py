# What the kernel did in interrupt context, by component, device and victim: samples in the ledger.


import numpy as np

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...spans import columns
from ...timeline.reading import preload
from ...timeline.timeline import Timeline
from ...units import absent
from ..moments import OWNERS, owners_at
from ..samples.sampled import sampled
from .profile import classified

_INTERRUPT = ("hardirq", "vector", "softirq", "poll")
# The vector in which a timer's samples are taken.
_TIMER = "local_timer"
_OF = ["context", "device", "cost_class", "comm"]
_KEYS = [*_OF, "component"]


def _check(timeline: Timeline) -> None:
    clocks = [one.header["clock"] for one in (timeline.capture, sampled(timeline.capture))]
    if clocks[0] != clocks[1]:
        raise CaptureError(
            f"the tracepoints' clock is {clocks[0]}, the samples' is {clocks[1]}: "
            "netcost-record --profile stolen,functions records both with one clock"
        )


@question(
    check=_check,
    inputs=(OWNERS,),
    columns=("context", "device", "cost_class", "comm", "component", "samples", "hit_share"),
    rows=20,
)
def interrupt_components(
    timeline: Timeline, event: str | None = None, rules: str | None = None
) -> Answer:
    """What the kernel did in interrupt context, by device, interrupted task and component.

    A row per context, device, cost class, task and component, most samples first. The samples are
    those that hit a hardirq, a vector, a softirq or a poll of the ledger. A sample belongs to the
    segment of its CPU at its time. A timer takes samples in its own interrupt; these belong to what
    it interrupted. The timer's interrupt comes when interrupts are enabled again, so the work of a
    hardirq appears right behind it. Source: segments, and questions/functions/components.toml.
    """
    # Why there is no ledger is said before anything of samples.
    preload(timeline, ())
    _check(timeline)
    profile = classified(timeline.capture, event, rules)
    cpus, times = columns(profile.samples, "cpu", "time_ns")
    owners, owner = owners_at(timeline, cpus, times, _TIMER if profile.is_timed else None)
    if not len(owners):
        raise CaptureError("the window holds no segment")
    named = owners[_OF].astype(object)
    named = named.where(named.notna(), None)
    # No owner is the last place.
    hit = np.append(named["context"].isin(_INTERRUPT), False)[owner]
    samples = profile.samples[hit]
    frame = named.iloc[owner[hit]].assign(
        component=samples["component"].to_numpy(dtype=object),
        samples=1,
        weight=samples["weight"].to_numpy(),
    )
    by = frame.groupby(_KEYS, dropna=False)[["samples", "weight"]].sum().reset_index()
    by["hit_share"] = by["weight"] / (by["weight"].sum() or np.nan)
    return Answer(
        interrupt_components=by.sort_values(
            "samples", ascending=False, kind="stable", ignore_index=True
        ),
        sampled_event=profile.event,
        interrupt_samples=int(hit.sum()),
        window_samples=int((owner >= 0).sum()),
    )


_TITLE = "What was done in interrupt context, by context, cost and component"


@interrupt_components.plot(
    title=_TITLE, height=4.0, panels=lambda answer: [{}] if len(answer.frame) else []
)
def _plot(ax: Axes, answer: Answer) -> None:
    from .plots import MOST, bars

    rows = answer.frame[:MOST]
    names = [
        ", ".join(str(row[key]) for key in ("component", *_OF) if not absent(row[key]))
        for row in rows.to_dict("records")
    ]
    bars(ax, rows, "hit_share", "share of the samples in interrupt context (%)", 100, names)
    ax.set_title(_TITLE)
