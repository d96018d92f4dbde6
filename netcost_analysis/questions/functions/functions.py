# In which functions the CPUs' time went, as perf report --no-children has it.

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ..samples.part import Asked
from ..samples.parts import parts
from ..samples.rules import APPLICATION
from ..samples.sampled import sampled
from ..samples.summed import functions_of
from .framed import SHARES, framed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...capture.capture import Capture
    from .flame import Kind, Paths


@question(
    check=sampled,
    columns=("function", "component", "busy_share", "samples", "module"),
    rows=20,
    may_be_0=("cpu",),
)
def functions(
    capture: "Capture",
    cpu: int | None = None,
    event: str | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
    rules: str | None = None,
    user: bool = False,
) -> pd.DataFrame:
    """In which functions the CPUs' time went, and to which component they belonged there.

    - capture: With samples, of its own or beside it in its bundle.
    - cpu, event, start_s, end_s, rules: As components() takes them.
    - user: Whether functions of programs are wanted: then files of this machine, or in the folder
      that open_capture was given, are read, if their build id is the recorded one.

    A row per function and component, falling by samples: function (null without a name; outside the
    kernel "(user mode)" unless `user`), module (null for the kernel's own), dso (null in the
    kernel, and unless `user`), component, samples, weight, busy_share (NA in idle), busy_share_low,
    busy_share_high.

    The function is that of the sample's own address, without the compiler's endings (.isra.0,
    .cold); a function's rows add up to its self time in `perf report --no-children`.

    Source: perf's samples, and questions/functions/components.toml.
    """
    found = parts(sampled(capture), Asked(cpu, event, start_s, end_s, rules), user)
    keys = ("function", "module", "dso", "component")
    return framed(functions_of(found, user), (*keys, "samples", "weight", *SHARES))


@functions.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    rows = answer.frame[answer.frame["component"] != APPLICATION]
    busy = rows[rows["busy_share"].notna()]
    return {"largest": busy[:3].to_dict("records")}


_TITLE = "The functions with most of the busy samples, in the colours of their components"


@functions.plot(title=_TITLE, height=4.0)
def _plot(ax: "Axes", answer: "Answer") -> None:
    from .plots import MOST, bars

    rows = answer.frame[answer.frame["busy_share"].notna()][:MOST]
    names = rows["function"].astype(object).fillna("(no name)") + ", " + rows["component"]
    share, low, high = (
        100 * rows[f"busy_share{end}"].to_numpy(dtype=float) for end in ("", "_low", "_high")
    )
    bars(ax, names, rows["component"], share, (low, high))
    ax.set_xlabel("share of the samples outside idle (%)")
    ax.set_title(_TITLE)


_GRAPHS = {
    "stolen": "Time in interrupts, under the task they ran on",
    "all": "Time by call path, without idle",
}


def _graphs(answer: "Answer") -> list[dict[str, str]]:
    # Of a whole recording: in interrupts where samples hit any, else of all.
    if not len(answer.frame) or {"start_s", "end_s"} & answer.options.keys():
        return []
    for kind in _GRAPHS:
        with suppress(CaptureError):
            _paths(answer, kind)
            return [{"kind": kind}]
    return []


def _paths(answer: "Answer", kind: str) -> "Paths":
    from .flame import paths

    options = answer.options
    which: Kind = "stolen" if kind == "stolen" else "all"
    return paths(answer.capture, which, options.get("event"), options.get("cpu"), idle=False)


def _graph_title(_: "Answer", kind: str) -> str:
    return f"{_GRAPHS[kind]} (flame graph)"


@functions.plot(
    "flame",
    title=_graph_title,
    height=4.5,
    panels=_graphs,
    choices=lambda _: [{"kind": kind} for kind in _GRAPHS],
)
def _plot_flame(ax: "Axes", answer: "Answer", kind: str = "all") -> None:
    from .flame import graph
    from .flame_picture import flame

    found = _paths(answer, kind)
    flame(ax, graph([found]), "ns" if found.one.is_timed else found.one.event)
    ax.set_title(_graph_title(answer, kind))
