# What the kernel did in interrupt context, by component, device and victim: samples in the ledger.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...timeline.timeline import Timeline
from ...units import absent
from ..inputs import rows
from ..question import question
from ..samples.sampled import chosen_event, sampled
from .profile import classified, profile
from .weights import weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ...capture.capture import Capture
    from ..answer import Answer

_CONTEXTS = ("hardirq", "vector", "softirq", "poll")
# The vector in which a timer's samples are taken.
_TIMER = "local_timer"
_KEYS = ["context", "device", "cost_class", "comm", "component"]


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
    inputs=("segments",),
    main="interrupt_components",
    main_columns=(
        *("context", "device", "cost_class", "comm", "component", "samples", "hit_share"),
    ),
    rows=20,
)
def interrupt_components(
    timeline: Timeline, event: str | None = None, rules: str | None = None
) -> InterruptComponents:
    """What the kernel did in interrupt context: by device, on top of whom, and by component.

    Parameters
    ----------
    timeline : Timeline
        What is asked, of a bundle with tracepoints and samples of functions.
    event, rules
        As components() takes them.

    Returns
    -------
    InterruptComponents
        Samples that hit a hardirq, a vector, a softirq or a poll of the ledger.

    Raises
    ------
    CaptureError
        As components() does, for samples of another clock than the tracepoints', and where the
        events do not tell the CPUs' time apart.
    ArgumentError
        As components() does.

    Notes
    -----
    A sample is of the segment of its CPU that holds its time. A timer takes samples in its own
    interrupt: these are of what that interrupted. It comes when interrupts are enabled again, so
    that what a hardirq does is found right behind it.
    Source: segments, and questions/functions/components.toml.
    """
    source = _source(timeline)
    chosen = chosen_event(source, event)
    one, found = profile(source, chosen), classified(source, chosen, rules)
    one.require_names(source.path)
    (segments,) = rows_of(timeline)
    place = _segment_of(one.samples, segments)
    inside = place >= 0
    if one.is_timed:
        place = _interrupted(place, segments)
    there = segments.iloc[place[inside]]
    known = there["context"].isin(_CONTEXTS).to_numpy()
    taken = one.samples[inside][known]
    frame = there.loc[known, ["context", "device", "cost_class", "comm"]].astype(object)
    frame = frame.where(frame.notna(), None).reset_index(drop=True)
    of = found.of_stack[taken["stack"].to_numpy()]
    frame["component"] = np.array(found.components, dtype=object)[of]
    group = frame.groupby(_KEYS, dropna=False, sort=False).ngroup().to_numpy()
    number = int(group.max()) + 1 if len(group) else 0
    summed = frame.groupby(group).first() if number else frame
    summed["samples"] = np.bincount(group, minlength=number)
    summed["weight"] = weights(group, taken["period"], number)
    summed["hit_share"] = summed["weight"] / (summed["weight"].sum() or np.nan)
    order = summed.sort_values("samples", ascending=False, kind="stable", ignore_index=True)
    return InterruptComponents(order, one.event, len(taken), int(inside.sum()))


def rows_of(timeline: Timeline) -> tuple[pd.DataFrame, ...]:
    found = rows(timeline, "segments")
    if not len(found[0]):
        raise CaptureError("the window holds no segment")
    return found


def _segment_of(samples: pd.DataFrame, segments: pd.DataFrame) -> "NDArray[np.int64]":
    # Of each sample the place of the segment that holds its time, -1 for none.
    found = np.full(len(samples), -1, dtype="i8")
    cpus, times = samples["cpu"].to_numpy(), samples["time_ns"].to_numpy()
    of_cpu = segments["cpu"].to_numpy()
    start, end = (segments[name].to_numpy() for name in ("start_ns", "end_ns"))
    for cpu in np.unique(of_cpu):
        own, mine = np.flatnonzero(of_cpu == cpu), np.flatnonzero(cpus == cpu)
        at = np.searchsorted(start[own], times[mine], side="right") - 1
        place = own[np.maximum(at, 0)]
        inside = (at >= 0) & (times[mine] < end[place])
        found[mine[inside]] = place[inside]
    return found


def _interrupted(place: "NDArray[np.int64]", segments: pd.DataFrame) -> "NDArray[np.int64]":
    # For samples within the timer's own vector the segment before it, of the same CPU.
    names = segments["name"].astype(object).to_numpy()
    timer = (segments["context"] == "vector").to_numpy() & (names == _TIMER)
    cpu = segments["cpu"].to_numpy()
    found = place.copy()
    # What the vector interrupted may have been cut in two by another one.
    while True:
        here = (found > 0) & timer[np.maximum(found, 0)]
        before = np.maximum(found - 1, 0)
        here &= cpu[before] == cpu[np.maximum(found, 0)]
        if not here.any():
            return found
        found[here] -= 1


@interrupt_components.figures
def _figures(answer: "Answer[InterruptComponents]") -> dict[str, Any]:
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
def _plot(ax: "Axes", answer: "Answer[InterruptComponents]") -> None:
    from .plots import MOST, bars

    rows = answer.frame[:MOST]
    names = [
        ", ".join(str(row[key]) for key in ("component", *_KEYS[:-1]) if not absent(row[key]))
        for row in rows.to_dict("records")
    ]
    share = 100 * rows["hit_share"].to_numpy(dtype=float)
    bars(ax, names, rows["component"], share)
    ax.set_xlabel("share of the samples in interrupt context (%)")
    ax.set_title(_TITLE)
