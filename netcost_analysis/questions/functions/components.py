# To which part of the kernel's work the CPUs' time went.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...stats.counts import share_interval
from ..question import question
from .interrupts_off import HIDDEN, interrupts_off_in
from .profile import Classified, Profile, classified, profile
from .rules import APPLICATION, UNCLASSIFIED
from .sampled import chosen_event, sampled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ...capture.capture import Capture
    from ..answer import Answer

IDLE = "idle"
# Of a component so many functions are named.
_NAMED = 3


class Components(NamedTuple):
    """Answer of `components`.

    Attributes
    ----------
    components : pandas.DataFrame
        A row per component that has samples, falling by samples: component, samples, weight,
        busy_share, busy_share_low, busy_share_high, deciding_functions.
    interrupts_off : pandas.DataFrame
        Of the samples where a timer found interrupts enabled again, a row per interrupts_off_in
        (the interrupt that ended there, else the component of the call path), falling by samples:
        interrupts_off_in, samples, weight, busy_share.
    sampled_event : str
        The event that was sampled.
    is_timed : bool
        Whether a timer took the samples: `weight` is in ns, and nothing is seen while interrupts
        are off.
    samples : int
        All samples.
    busy_samples : int
        Those outside idle.
    kernel_samples : int
        Those of `busy_samples` in the kernel.
    unclassified_share : float
        Of the weight of `kernel_samples` what no rule names; NaN where there are none.
    """

    components: pd.DataFrame
    interrupts_off: pd.DataFrame
    sampled_event: str
    is_timed: bool
    samples: int
    busy_samples: int
    kernel_samples: int
    unclassified_share: float


@question(
    check=sampled,
    main="components",
    main_columns=("component", "busy_share", "busy_share_low", "busy_share_high", "samples"),
    rows=40,
    may_be_0=("cpu",),
)
def components(
    capture: "Capture",
    cpu: int | None = None,
    event: str | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
    rules: str | None = None,
) -> Components:
    """To which part of the kernel's work the CPUs' time went, by the call paths of samples.

    Parameters
    ----------
    capture : Capture
        With samples, of its own or beside it in its bundle.
    cpu : int, optional
        Only this CPU's samples.
    event : str, optional
        The sampled event; cycles, or the timer where there are none, unless given.
    start_s, end_s : float, optional
        Seconds from the start of the recording with the samples.
    rules : str, optional
        A file of rules like questions/functions/components.toml, which count before it.

    Returns
    -------
    Components
        Each sample in one component.

    Raises
    ------
    CaptureError
        For a capture without samples of functions, or without the names of the kernel's.
    ArgumentError
        For an event that was not sampled, and a file of rules that there is not.

    Notes
    -----
    A sample belongs to the innermost function on its call path that a rule names, so that a lock, a
    memcpy or an allocation belongs to who called it; one in user mode is "application", what no
    rule names "unclassified". A timer's samples are found where interrupts are enabled again: these
    are "interrupts off". Shares are of the samples outside idle; intervals: Wilson, of the sampling
    alone.

    Source: perf's samples, and questions/functions/components.toml.
    """
    source = sampled(capture)
    chosen = chosen_event(source, event)
    one, found = profile(source, chosen), classified(source, chosen, rules)
    one.require_names(source.path)
    taken = one.taken(source, cpu, start_s, end_s)
    return summed(one, found, taken)


def summed(one: Profile, found: Classified, taken: "NDArray[np.bool_]") -> Components:
    # Of the samples that are taken.
    fine = parted(one, found, taken)
    periods = one.samples.loc[taken, "period"]
    stack = one.samples.loc[taken, "stack"].to_numpy()
    by = fine.groupby("component", sort=False)
    frame = by[["samples", "weight"]].sum().reset_index()
    is_idle = frame["component"].eq(IDLE).to_numpy()
    weight = frame["weight"].to_numpy()
    in_kernel = (frame["component"] != APPLICATION).to_numpy() & ~is_idle
    share = weight / (weight[~is_idle].sum() or np.nan)
    busy = found.of_stack[stack] != _place(found, IDLE)
    counted = effective(periods, busy)
    low, high = share_interval(share * counted, counted)
    for name, values in (
        ("busy_share", share),
        ("busy_share_low", low),
        ("busy_share_high", high),
    ):
        frame[name] = np.where(is_idle, np.nan, values)
    named = dict(zip(found.components, deciding(one, found, stack), strict=True))
    frame["deciding_functions"] = frame["component"].map(named)
    kernel = weight[in_kernel].sum()
    unnamed = weight[(frame["component"] == UNCLASSIFIED).to_numpy()].sum()
    hidden = fine[fine["interrupts_off_in"].notna()].drop(columns="component")
    return Components(
        frame.sort_values("samples", ascending=False, kind="stable", ignore_index=True),
        hidden.assign(busy_share=hidden["weight"] / (weight[~is_idle].sum() or np.nan)).reset_index(
            drop=True
        ),
        one.event,
        one.is_timed,
        int(frame["samples"].sum()),
        int(busy.sum()),
        int(frame.loc[in_kernel, "samples"].sum()),
        float(unnamed / kernel) if kernel else float("nan"),
    )


def parted(one: Profile, found: Classified, taken: "NDArray[np.bool_]") -> pd.DataFrame:
    # A row per component and, of interrupts off, what they were off in, falling by samples:
    # component, interrupts_off_in, samples, weight.
    rows = one.samples.loc[taken, ["stack", "period"]]
    stack = rows["stack"].to_numpy()
    names, off_in = interrupts_off_in(one, found)
    # None stands behind all others, where -1 is.
    known, number = [*names, None], len(names) + 1
    group = found.of_stack[stack].astype("i8") * number + off_in[stack] % number
    whole = len(found.components) * number
    frame = pd.DataFrame(
        {
            "component": np.repeat(np.array(found.components, dtype=object), number),
            "interrupts_off_in": known * len(found.components),
            "samples": np.bincount(group, minlength=whole),
            "weight": weights(group, rows["period"], whole),
        }
    )
    frame = frame[frame["samples"] > 0]
    return frame.sort_values("samples", ascending=False, kind="stable", ignore_index=True)


def _place(found: Classified, component: str) -> int:
    return found.components.index(component) if component in found.components else -1


def weights(group: "NDArray[Any]", periods: "pd.Series[Any]", number: int) -> "NDArray[np.int64]":
    # What samples stand for, by group: exact, where floats of bincount would not be.
    total = np.zeros(number, dtype="i8")
    np.add.at(total, group, periods.fillna(1).to_numpy(dtype="i8"))
    return total


def effective(periods: "pd.Series[Any]", taken: "NDArray[np.bool_]") -> float:
    # How many samples of one weight would tell as much (Kish): all, where they weigh the same.
    known = periods.fillna(1).to_numpy(dtype=float)[taken]
    square = (known**2).sum()
    return float(known.sum() ** 2 / square) if square else 0.0


def deciding(one: Profile, found: Classified, stack: "NDArray[Any]") -> list[str]:
    # Of each component the functions that put most samples into it.
    counts = np.bincount(stack, minlength=len(found.of_stack))
    decided = found.decided_by >= 0
    of = pd.DataFrame(
        {
            "component": found.of_stack[decided],
            "function": one.names["function"].to_numpy()[found.decided_by[decided]],
            "count": counts[decided],
        }
    )
    by = of[of["count"] > 0].groupby(["component", "function"], sort=False)["count"].sum()
    order = by.reset_index().sort_values("count", ascending=False, kind="stable")
    names = order.groupby("component")["function"].agg(lambda all_: ", ".join(all_[:_NAMED]))
    return [str(names.get(at, "")) for at in range(len(found.components))]


@components.figures
def _figures(answer: "Answer[Components]") -> dict[str, Any]:
    found = answer.result
    rows = found.components
    busy = rows[rows["busy_share"].notna()].to_dict("records")
    hidden = [row for row in busy if row["component"] == HIDDEN]
    # Not named, or not the kernel's: they lead to nothing that can be looked up.
    aside = (HIDDEN, UNCLASSIFIED, APPLICATION)
    return {
        "sampled_event": found.sampled_event,
        "is_timed": found.is_timed,
        "samples": found.samples,
        "busy_samples": found.busy_samples,
        "unclassified_share": found.unclassified_share,
        "largest": [row for row in busy if row["component"] not in aside][:4],
        "hidden": hidden[0] if hidden else None,
        "off_in": found.interrupts_off[:4].to_dict("records"),
    }


_TITLE = "Share of the busy samples by component, with 95 % intervals of the sampling"


@components.plot(title=_TITLE, height=4.5)
def _plot(ax: "Axes", answer: "Answer[Components]") -> None:
    from .plots import bars

    rows = answer.frame[answer.frame["busy_share"].notna()]
    share, low, high = (
        100 * rows[f"busy_share{end}"].to_numpy(dtype=float) for end in ("", "_low", "_high")
    )
    bars(ax, rows["component"], rows["component"], share, (low, high))
    ax.set_xlabel(f"share of the samples outside idle (%), event {answer.result.sampled_event}")
    ax.set_title(_TITLE)
