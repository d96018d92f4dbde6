# To which part of the kernel's work the CPUs' time went.

from typing import TYPE_CHECKING

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...display.templates import code, escaped
from ..samples.component_summary import component_summary
from ..samples.component_sums import component_sums
from ..samples.grouping import grouped_samples
from ..samples.sample_groups import Asked
from ..samples.sampled import sampled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...capture.capture import Capture

SUMS = ["samples", "weight", "busy_share"]
ENDS = ["busy_share_low", "busy_share_high"]


@question(
    check=sampled,
    main="components",
    columns=("component", "busy_share", "busy_share_low", "busy_share_high", "samples"),
    rows=40,
    allow_zero=("cpu",),
)
def components(
    capture: "Capture",
    cpu: int | None = None,
    event: str | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
    rules: str | None = None,
) -> Answer:
    """Which part of the kernel's work took the CPUs' time, by the call paths of samples.

    A row per component that has samples, most first. A sample belongs to the innermost function on
    its call path that a rule names, so a lock, a memcpy or an allocation belongs to its caller. A
    sample in user mode is "application"; one that no rule names is "unclassified". A timer's
    samples of code with interrupts off appear where interrupts are enabled again: these are
    "interrupts off", and `interrupts_off` names the place. Intervals: Wilson, of the sampling
    alone.

    event: by default cycles, or the timer where there are none. start_s, end_s: seconds from the
    start of the recording with the samples. rules: a file like questions/functions/components.toml,
    whose rules take precedence. Source: perf's samples, and that file.
    """
    asked = Asked(cpu, event, start_s, end_s, rules)
    found = component_sums(grouped_samples(sampled(capture), asked))
    paragraph = component_summary(found, escaped, code)
    frame = pd.DataFrame(
        found.pop("components"), columns=["component", *SUMS, *ENDS, "deciding_functions"]
    )
    off = pd.DataFrame(found.pop("interrupts_off"), columns=["interrupts_off_in", *SUMS])
    return Answer(components=frame, interrupts_off=off, **found, paragraph=paragraph)


_TITLE = "Share of the busy samples by component, with 95 % intervals of the sampling"


@components.plot(title=_TITLE, height=4.5)
def _plot(ax: "Axes", answer: Answer) -> None:
    from .plots import bars

    label = f"share of the samples outside idle (%), event {answer['sampled_event']}"
    bars(ax, answer.frame[answer.frame["busy_share"].notna()], "busy_share", label, 100)
    ax.set_title(_TITLE)
