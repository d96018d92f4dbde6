# What the kernel did in interrupt context, by component, device and victim: samples in the ledger.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...spans import columns
from ...timeline.reading import preload
from ...timeline.timeline import Timeline
from ...units import absent
from ..moments import OWNERS, owners_at
from ..samples.sampled import chosen_event, sampled
from .profile import classified, profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...capture.capture import Capture

_INTERRUPT = ("hardirq", "vector", "softirq", "poll")
# The vector in which a timer's samples are taken.
_TIMER = "local_timer"
_OF = ["context", "device", "cost_class", "comm"]
_KEYS = [*_OF, "component"]


class InterruptComponents(NamedTuple):
    """Answer of `interrupt_components`.

    Attributes
    ----------
    interrupt_components : pandas.DataFrame
        A row per context, device, cost_class, comm and component, falling by samples; then samples,
        weight, hit_share (of all samples in interrupt context).
    sampled_event : str
        The event that was sampled.
    interrupt_samples : int
        Samples in interrupt context, by the ledger.
    window_samples : int
        All samples of the window and its CPUs.
    """

    interrupt_components: pd.DataFrame
    sampled_event: str
    interrupt_samples: int
    window_samples: int


def _check(timeline: Timeline) -> None:
    _source(timeline)


def _source(timeline: Timeline) -> "Capture":
    # Where the samples are, of the tracepoints' clock.
    source = sampled(timeline.capture)
    clocks = [str(one.header["clock"]) for one in (timeline.capture, source)]
    if clocks[0] != clocks[1]:
        raise CaptureError(
            f"the clock of the tracepoints is {clocks[0]}, that of the samples {clocks[1]}: "
            "netcost-record --profile stolen,functions records both by one"
        )
    return source


@question(
    check=_check,
    inputs=(OWNERS,),
    main="interrupt_components",
    columns=(*("context", "device", "cost_class", "comm", "component", "samples", "hit_share"),),
    rows=20,
)
def interrupt_components(
    timeline: Timeline, event: str | None = None, rules: str | None = None
) -> InterruptComponents:
    """What the kernel did in interrupt context: by device, on top of whom, and by component.

    - timeline: What is asked, of a bundle with tracepoints and samples of functions.
    - event, rules: As components() takes them.

    Samples that hit a hardirq, a vector, a softirq or a poll of the ledger.

    A sample is of the segment of its CPU that holds its time. A timer takes samples in its own
    interrupt: these are of what that interrupted. It comes when interrupts are enabled again, so
    that what a hardirq does is found right behind it. Source: segments, and
    questions/functions/components.toml.
    """
    # Why there is no ledger is said before anything of samples.
    preload(timeline, ())
    source = _source(timeline)
    chosen = chosen_event(source, event)
    one, found = profile(source, chosen), classified(source, chosen, rules)
    one.require_names(source.path)
    samples, through = one.samples, _TIMER if one.is_timed else None
    cpus, times = columns(samples, "cpu", "time_ns")
    owners, owner = owners_at(timeline, cpus, times, through)
    if not len(owners):
        raise CaptureError("the window holds no segment")
    named = owners[_OF].astype(object)
    named = named.where(named.notna(), None)
    is_interrupt = named["context"].isin(_INTERRUPT).to_numpy(dtype=bool)
    # No owner is the last place.
    hit = np.append(is_interrupt, False)[owner]
    frame = named.iloc[owner[hit]].reset_index(drop=True)
    frame["component"] = np.array(found.components, dtype=object)[
        found.of_stack[samples["stack"].to_numpy()[hit]]
    ]
    frame["weight"] = samples["period"].fillna(1).to_numpy(dtype="int64")[hit]
    sums = frame.assign(samples=1).groupby(_KEYS, dropna=False)[["samples", "weight"]].sum()
    summed = sums.reset_index()
    summed["hit_share"] = summed["weight"] / (summed["weight"].sum() or np.nan)
    order = summed.sort_values("samples", ascending=False, kind="stable", ignore_index=True)
    return InterruptComponents(order, one.event, int(hit.sum()), int((owner >= 0).sum()))


@interrupt_components.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    found = answer.result
    return {
        "window_samples": found.window_samples,
        "interrupt_samples": found.interrupt_samples,
        "largest": found.interrupt_components[:4].to_dict("records"),
    }


_TITLE = "What was done in interrupt context, by context, cost and component"


@interrupt_components.plot(
    title=_TITLE, height=4.0, panels=lambda answer: [{}] if len(answer.frame) else []
)
def _plot(ax: "Axes", answer: "Answer") -> None:
    from .plots import MOST, bars

    rows = answer.frame[:MOST]
    names = [
        ", ".join(str(row[key]) for key in ("component", *_OF) if not absent(row[key]))
        for row in rows.to_dict("records")
    ]
    share = 100 * rows["hit_share"].to_numpy(dtype=float)
    bars(ax, names, rows["component"], share)
    ax.set_xlabel("share of the samples in interrupt context (%)")
    ax.set_title(_TITLE)
