# In which functions the CPUs' time went, as perf report --no-children has it.

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...stats.counts import share_interval
from ..question import question
from .components import IDLE, effective, weights
from .profile import classified, profile
from .rules import APPLICATION
from .sampled import chosen_event, sampled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...capture.capture import Capture
    from ..answer import Answer
    from .flame import Kind, Paths

_USER = "(user mode)"


@question(
    check=sampled,
    main_columns=("function", "component", "busy_share", "samples", "module"),
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

    Parameters
    ----------
    capture : Capture
        With samples, of its own or beside it in its bundle.
    cpu, event, start_s, end_s, rules
        As components() takes them.
    user : bool, optional
        Whether functions of programs are wanted: then files of this machine, or in the folder that
        open_capture was given, are read, if their build id is the recorded one.

    Returns
    -------
    pandas.DataFrame
        A row per function and component, falling by samples: function (null without a name; outside
        the kernel "(user mode)" unless `user`), module (null for the kernel's own), dso (null in
        the kernel, and unless `user`), component, samples, weight, busy_share (NA in idle),
        busy_share_low, busy_share_high.

    Raises
    ------
    CaptureError
        As components() does.
    ArgumentError
        As components() does.

    Notes
    -----
    The function is that of the sample's own address, without the compiler's endings (.isra.0,
    .cold); a function's rows add up to its self time in `perf report --no-children`.

    Source: perf's samples, and questions/functions/components.toml.
    """
    source = sampled(capture)
    chosen = chosen_event(source, event)
    one = profile(source, chosen, user=user)
    found = classified(source, chosen, rules, user)
    one.require_names(source.path)
    rows = one.samples.loc[one.taken(source, cpu, start_s, end_s), ["stack", "period"]]
    stack = rows["stack"].to_numpy()
    leaf = one.frames.iloc[one.leaves]
    names = leaf["function"].astype(object)
    if not user:
        names = names.where(leaf["in_kernel"].to_numpy(), _USER)
    keys = pd.DataFrame(
        {
            "function": names.to_numpy(),
            "module": leaf["module"].astype(object).to_numpy(),
            "dso": leaf["dso"].astype(object).to_numpy() if user else None,
            "component": np.array(found.components, dtype=object)[found.of_stack],
        }
    )
    group = keys.groupby(
        ["function", "module", "dso", "component"], dropna=False, sort=False
    ).ngroup()
    of_sample = group.to_numpy()[stack]
    number = int(group.max()) + 1 if len(group) else 0
    frame = keys.groupby(group.to_numpy()).first() if number else keys
    frame["samples"] = np.bincount(of_sample, minlength=number)
    frame["weight"] = weights(of_sample, rows["period"], number)
    is_idle = frame["component"].eq(IDLE).to_numpy()
    share = frame["weight"].to_numpy() / (frame["weight"][~is_idle].sum() or np.nan)
    counted = effective(rows["period"], ~is_idle[of_sample])
    low, high = share_interval(share * counted, counted)
    ends = {"busy_share": share, "busy_share_low": low, "busy_share_high": high}
    frame = frame.assign(**{name: np.where(is_idle, np.nan, of) for name, of in ends.items()})
    frame = frame[frame["samples"] > 0]
    return frame.sort_values("samples", ascending=False, kind="stable", ignore_index=True)


@functions.figures
def _figures(answer: "Answer[pd.DataFrame]") -> dict[str, Any]:
    rows = answer.frame[answer.frame["component"] != APPLICATION]
    busy = rows[rows["busy_share"].notna()]
    return {"largest": busy[:3].to_dict("records")}


_TITLE = "The functions with most of the busy samples, in the colours of their components"


@functions.plot(title=_TITLE, height=4.0)
def _plot(ax: "Axes", answer: "Answer[pd.DataFrame]") -> None:
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


def _graphs(answer: "Answer[pd.DataFrame]") -> list[dict[str, str]]:
    # Of a whole recording: in interrupts where samples hit any, else of all.
    if not len(answer.frame) or {"start_s", "end_s"} & answer.options.keys():
        return []
    for kind in _GRAPHS:
        with suppress(CaptureError):
            _paths(answer, kind)
            return [{"kind": kind}]
    return []


def _paths(answer: "Answer[pd.DataFrame]", kind: str) -> "Paths":
    from .flame import paths

    options = answer.options
    which: Kind = "stolen" if kind == "stolen" else "all"
    return paths(answer.capture, which, options.get("event"), options.get("cpu"), idle=False)


def _graph_title(_: "Answer[pd.DataFrame]", kind: str) -> str:
    return f"{_GRAPHS[kind]} (flame graph)"


@functions.plot(
    "flame",
    title=_graph_title,
    height=4.5,
    panels=_graphs,
    choices=lambda _: [{"kind": kind} for kind in _GRAPHS],
)
def _plot_flame(ax: "Axes", answer: "Answer[pd.DataFrame]", kind: str = "all") -> None:
    from .flame import graph
    from .flame_picture import flame

    found = _paths(answer, kind)
    flame(ax, graph([found]), "ns" if found.one.is_timed else found.one.event)
    ax.set_title(_graph_title(answer, kind))
