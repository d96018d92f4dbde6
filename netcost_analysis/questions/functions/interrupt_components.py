# What the kernel did in interrupt context, by component, device and victim: samples in the ledger.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...timeline.timeline import Timeline
from ...units import absent
from ..folds import fold
from ..inputs import once
from ..question import question
from ..samples.sampled import chosen_event, sampled
from .profile import classified, profile
from .sampled_segments import KEYS, SampledSegments, Taken

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...capture.capture import Capture
    from ..answer import Answer


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
    one = profile(source, chosen)
    found = _hit(timeline, taken=_taken(timeline, chosen, rules))
    if not found.segments:
        raise CaptureError("the window holds no segment")
    assert found.sums is not None
    summed = found.sums.reset_index()
    summed["hit_share"] = summed["weight"] / (summed["weight"].sum() or np.nan)
    order = summed.sort_values("samples", ascending=False, kind="stable", ignore_index=True)
    hits = int(summed["samples"].sum())
    return InterruptComponents(order, one.event, hits, found.inside)


@once
def _taken(timeline: Timeline, event: str, rules: str | None) -> Taken:
    source = _source(timeline)
    one, found = profile(source, event), classified(source, event, rules)
    one.require_names(source.path)
    stack = one.samples["stack"].to_numpy()
    component = np.array(found.components, dtype=object)[found.of_stack[stack]]
    weight = one.samples["period"].fillna(1).to_numpy(dtype="i8")
    return Taken(one.samples, component, weight, one.is_timed)


@fold("segments")
def _hit(before: SampledSegments | None, segments: pd.DataFrame, taken: Taken) -> SampledSegments:
    state = before or SampledSegments(taken)
    state.add(segments)
    return state


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
        ", ".join(str(row[key]) for key in ("component", *KEYS[:-1]) if not absent(row[key]))
        for row in rows.to_dict("records")
    ]
    share = 100 * rows["hit_share"].to_numpy(dtype=float)
    bars(ax, names, rows["component"], share)
    ax.set_xlabel("share of the samples in interrupt context (%)")
    ax.set_title(_TITLE)
