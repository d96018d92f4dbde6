# To which part of the kernel's work the CPUs' time went.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...answers.question import question
from ...display.templates import code, escaped
from ..samples.part import Asked
from ..samples.parts import parts
from ..samples.sampled import sampled
from ..samples.summed import Summed, summed
from ..samples.words import component_figures, component_words
from .framed import SHARES, framed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...capture.capture import Capture


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
    columns=("component", "busy_share", "busy_share_low", "busy_share_high", "samples"),
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

    - capture: With samples, of its own or beside it in its bundle.
    - cpu: Only this CPU's samples.
    - event: The sampled event; cycles, or the timer where there are none, unless given.
    - start_s, end_s: Seconds from the start of the recording with the samples.
    - rules: A file of rules like questions/functions/components.toml, which count before it.

    Each sample in one component.

    A sample belongs to the innermost function on its call path that a rule names, so that a lock, a
    memcpy or an allocation belongs to who called it; one in user mode is "application", what no
    rule names "unclassified". A timer's samples are found where interrupts are enabled again: these
    are "interrupts off". Shares are of the samples outside idle; intervals: Wilson, of the sampling
    alone.

    Source: perf's samples, and questions/functions/components.toml.
    """
    found = summed(parts(sampled(capture), Asked(cpu, event, start_s, end_s, rules)))
    return Components(
        framed(found.components, ("component", "samples", "weight", *SHARES, "deciding_functions")),
        framed(found.interrupts_off, ("interrupts_off_in", "samples", "weight", "busy_share")),
        *found[2:],
    )


@components.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    found = answer.result
    rows: list[Any] = [found.components.to_dict("records"), found.interrupts_off.to_dict("records")]
    figures = component_figures(Summed(rows[0], rows[1], *found[2:]))
    return figures | {"paragraph": component_words(figures, escaped, code)}


_TITLE = "Share of the busy samples by component, with 95 % intervals of the sampling"


@components.plot(title=_TITLE, height=4.5)
def _plot(ax: "Axes", answer: "Answer") -> None:
    from .plots import bars

    rows = answer.frame[answer.frame["busy_share"].notna()]
    share, low, high = (
        100 * rows[f"busy_share{end}"].to_numpy(dtype=float) for end in ("", "_low", "_high")
    )
    bars(ax, rows["component"], rows["component"], share, (low, high))
    ax.set_xlabel(f"share of the samples outside idle (%), event {answer.result.sampled_event}")
    ax.set_title(_TITLE)
