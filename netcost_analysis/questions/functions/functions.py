# In which functions the CPUs' time went, as perf report --no-children has it.

from contextlib import suppress
from typing import TYPE_CHECKING

import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ..samples.component_sums import function_sums
from ..samples.grouping import grouped_samples
from ..samples.sample_groups import Asked
from ..samples.sampled import sampled
from .components import ENDS, SUMS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...capture.capture import Capture
    from .flame import Kind, Paths


@question(
    check=sampled,
    columns=("function", "component", "busy_share", "samples", "module"),
    rows=20,
    allow_zero=("cpu",),
)
def functions(
    capture: "Capture",
    cpu: int | None = None,
    event: str | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
    rules: str | None = None,
    user: bool = False,
) -> Answer:
    """Which functions took the CPUs' time, and to which component they belonged there.

    A row per function and component, most samples first. The function is that of the sample's own
    address, without the compiler's endings (.isra.0, .cold). A function's rows add up to its self
    time in `perf report --no-children`.

    `user`: with functions of programs. For these, files of this machine, or in the folder that
    open_capture was given, are read if their build id is the recorded one. The other options are
    those of components(). Source: perf's samples, and questions/functions/components.toml.
    """
    found = grouped_samples(sampled(capture), Asked(cpu, event, start_s, end_s, rules), user)
    keys = ["function", "module", "dso", "component"]
    return Answer(pd.DataFrame(function_sums(found, user), columns=[*keys, *SUMS, *ENDS]))


_TITLE = "The functions with most of the busy samples, in the colours of their components"


@functions.plot(title=_TITLE, height=4.0)
def _plot(ax: "Axes", answer: Answer) -> None:
    from .plots import MOST, bars

    rows = answer.frame[answer.frame["busy_share"].notna()][:MOST]
    names = rows["function"].astype(object).fillna("(no name)") + ", " + rows["component"]
    bars(ax, rows, "busy_share", "share of the samples outside idle (%)", 100, names)
    ax.set_title(_TITLE)


_GRAPHS: "dict[Kind, str]" = {
    "stolen": "Time in interrupts, under the task they ran on (flame graph)",
    "all": "Time by call path, without idle (flame graph)",
}


def _graphs(answer: Answer) -> "list[dict[str, Kind]]":
    # Only of a whole recording: of interrupts where samples hit any, else of all time.
    if len(answer.frame) and not {"start_s", "end_s"} & answer.options.keys():
        for kind in _GRAPHS:
            with suppress(CaptureError):
                _paths(answer, kind)
                return [{"kind": kind}]
    return []


def _paths(answer: Answer, kind: "Kind") -> "Paths":
    from .flame import paths

    options = answer.options
    return paths(answer.capture, kind, options.get("event"), options.get("cpu"), idle=False)


@functions.plot(
    "flame",
    title=lambda _, kind: _GRAPHS[kind],
    height=4.5,
    panels=_graphs,
    choices=lambda _: [{"kind": kind} for kind in _GRAPHS],
)
def _plot_flame(ax: "Axes", answer: Answer, kind: "Kind" = "all") -> None:
    from .flame import graph
    from .plots import flame

    paths = _paths(answer, kind)
    flame(ax, graph([paths]), paths.profile.unit)
    ax.set_title(_GRAPHS[kind])
