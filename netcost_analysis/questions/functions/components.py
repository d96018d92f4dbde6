# To which part of the kernel's work the CPUs' time went, in which functions it was, and what the
# rules of components leave over.

from contextlib import suppress

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...capture.capture import Capture
from ...display.templates import code, escaped
from ..samples.component_sums import (
    component_summary,
    component_sums,
    function_sums,
    grouped_samples,
)
from ..samples.flame import Kind, Paths
from ..samples.rules import IDLE, UNCLASSIFIED
from ..samples.rules import rules as rules_of
from ..samples.sampled import Asked, sampled
from .profile import Classified, classified

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
    capture: Capture,
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


_BY_COMPONENT = "Share of the busy samples by component, with 95 % sampling intervals"


@components.plot(title=_BY_COMPONENT, height=4.5)
def _plot(ax: Axes, answer: Answer) -> None:
    from .plots import bars

    label = f"share of the samples outside idle (%), event {answer['sampled_event']}"
    bars(ax, answer.frame[answer.frame["busy_share"].notna()], "busy_share", label, 100)
    ax.set_title(_BY_COMPONENT)


@question(
    check=sampled,
    columns=("function", "component", "busy_share", "samples", "module"),
    rows=20,
    allow_zero=("cpu",),
)
def functions(
    capture: Capture,
    cpu: int | None = None,
    event: str | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
    rules: str | None = None,
    user: bool = False,
) -> Answer:
    """Which functions took the CPUs' time, and which component each belonged to.

    A row per function and component, most samples first. The function is that of the sample's own
    address, without the compiler's endings (.isra.0, .cold). A function's rows add up to its self
    time in `perf report --no-children`.

    `user`: include functions of programs. Their names come from files of this machine, or of the
    folder that open_capture was given, whose build id is the recorded one. The other options are
    those of components(). Source: perf's samples, and questions/functions/components.toml.
    """
    found = grouped_samples(sampled(capture), Asked(cpu, event, start_s, end_s, rules), user)
    keys = ["function", "module", "dso", "component"]
    return Answer(pd.DataFrame(function_sums(found, user), columns=[*keys, *SUMS, *ENDS]))


_MOST_SAMPLES = "The functions with most of the busy samples, in the colours of their components"


@functions.plot(title=_MOST_SAMPLES, height=4.0)
def _plot_functions(ax: Axes, answer: Answer) -> None:
    from .plots import MOST, bars

    rows = answer.frame[answer.frame["busy_share"].notna()][:MOST]
    names = rows["function"].astype(object).fillna("(no name)") + ", " + rows["component"]
    bars(ax, rows, "busy_share", "share of the samples outside idle (%)", 100, names)
    ax.set_title(_MOST_SAMPLES)


_GRAPHS: dict[Kind, str] = {
    "stolen": "Time in interrupts, under the task they ran on (flame graph)",
    "all": "Time by call path, without idle (flame graph)",
}


def _graphs(answer: Answer) -> list[dict[str, Kind]]:
    # Only of a whole recording: of interrupts where samples hit any, else of all time.
    if len(answer.frame) and not {"start_s", "end_s"} & answer.options.keys():
        for kind in _GRAPHS:
            with suppress(CaptureError):
                _paths(answer, kind)
                return [{"kind": kind}]
    return []


def _paths(answer: Answer, kind: Kind) -> Paths:
    from ..samples.flame import paths

    options = answer.options
    return paths(answer.capture, kind, options.get("event"), options.get("cpu"), idle=False)


@functions.plot(
    "flame",
    title=lambda _, kind: _GRAPHS[kind],
    height=4.5,
    panels=_graphs,
    choices=lambda _: [{"kind": kind} for kind in _GRAPHS],
)
def _plot_flame(ax: Axes, answer: Answer, kind: Kind = "all") -> None:
    from ..samples.flame import graph
    from .plots import flame

    paths = _paths(answer, kind)
    flame(ax, graph([paths]), paths.profile.unit)
    ax.set_title(_GRAPHS[kind])


_NAMES = ["function", "module"]


@question(
    check=sampled,
    main="unclassified",
    columns=("function", "samples", "kernel_share", "call_path"),
    rows=20,
)
def unclassified(capture: Capture, event: str | None = None, rules: str | None = None) -> Answer:
    """Which kernel functions no rule assigns to a component, and which several rules name.

    A row per function with samples of component "unclassified", most first: the functions that a
    user's own rules file should add. `claimed_twice`: sampled functions that rules of several
    components name; the first rule decides. Source: perf's samples, and
    questions/functions/components.toml.
    """
    profile = classified(capture, event, rules)
    component = np.array(profile.components, dtype=object)[profile.of_stack]
    kernel = int(profile.weights[profile.in_kernel & (component != IDLE)].sum())
    left = np.flatnonzero((component == UNCLASSIFIED) & (profile.weights > 0))
    left = left[np.argsort(-profile.weights[left], kind="stable")]
    # Innermost first, of the kernel.
    names, inside = profile.names["function"].to_numpy(), profile.frames["in_kernel"].to_numpy()
    stacks = [profile.places[profile.begins[at] : profile.begins[at + 1]] for at in left]
    paths = [" < ".join(name or "?" for name in names[stack[inside[stack]]]) for stack in stacks]
    rows = profile.names.iloc[profile.leaves[left]].assign(
        samples=profile.weights[left], call_path=paths
    )
    by = rows.groupby(_NAMES, sort=False)
    frame = by.agg(samples=("samples", "sum"), call_path=("call_path", "first")).reset_index()
    frame.insert(3, "kernel_share", frame["samples"] / (kernel or np.nan))
    return Answer(
        unclassified=_falling(frame),
        claimed_twice=_claimed_twice(profile, rules),
        kernel_samples=kernel,
        unclassified_samples=int(frame["samples"].sum()),
    )


def _claimed_twice(profile: Classified, own: str | None) -> pd.DataFrame:
    # Where the path decides, rules do not disagree.
    given = [rule for rule in rules_of(own) if not rule.timer and not rule.under]
    is_decided = profile.decided_by >= 0
    decided, samples = profile.decided_by[is_decided], profile.weights[is_decided]
    counts = np.bincount(decided, samples, minlength=len(profile.frames)).astype("i8")
    rows = profile.names.assign(samples=counts)[counts > 0]
    frame = rows.groupby(_NAMES, sort=False)["samples"].sum().reset_index()
    functions, modules = (frame[name].tolist() for name in _NAMES)
    names = [(rule.component, rule.names(functions, modules)) for rule in given]
    claims = [
        list(dict.fromkeys(component for component, is_named in names if is_named[at]))
        for at in range(len(frame))
    ]
    frame.insert(2, "component", [", ".join(one[:1]) for one in claims])
    frame.insert(3, "further_components", [", ".join(one[1:]) for one in claims])
    return _falling(frame[frame["further_components"] != ""])


def _falling(rows: pd.DataFrame) -> pd.DataFrame:
    # Without a name, or of the kernel's own, a function has none.
    rows = rows.assign(**{name: rows[name].replace("", None) for name in _NAMES})
    return rows.sort_values("samples", ascending=False, kind="stable", ignore_index=True)
