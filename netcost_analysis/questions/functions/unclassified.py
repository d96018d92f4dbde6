# What the rules of components leave over, and what two of them claim.

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ..samples.rules import IDLE, UNCLASSIFIED
from ..samples.rules import rules as rules_of
from ..samples.sampled import sampled
from .profile import Classified, Profile, classified

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...capture.capture import Capture

_NAMES = ["function", "module"]


@question(
    check=sampled,
    main="unclassified",
    columns=("function", "samples", "kernel_share", "call_path"),
    rows=20,
)
def unclassified(capture: "Capture", event: str | None = None, rules: str | None = None) -> Answer:
    """Which of the kernel's functions no rule of components names, and which several do.

    A row per function that samples of component "unclassified" were in, most first: the functions
    that a user's own file of rules has to add. `claimed_twice`: sampled functions that rules of
    several components name; the first rule decides. Source: perf's samples, and
    questions/functions/components.toml.
    """
    profile, classes = classified(capture, event, rules)
    idle = classes.components.index(IDLE) if IDLE in classes.components else -1
    kernel = int(profile.weights[profile.in_kernel & (classes.of_stack != idle)].sum())
    left = np.flatnonzero(classes.of_stack == classes.components.index(UNCLASSIFIED))
    left = left[np.argsort(-profile.weights[left], kind="stable")]
    left = left[profile.weights[left] > 0]
    rows = profile.names.iloc[profile.leaves[left]].assign(
        samples=profile.weights[left], call_path=_call_paths(profile, left)
    )
    by = rows.groupby(_NAMES, sort=False)
    frame = by.agg(samples=("samples", "sum"), call_path=("call_path", "first")).reset_index()
    frame.insert(3, "kernel_share", frame["samples"] / (kernel or np.nan))
    return Answer(
        unclassified=_falling(frame),
        claimed_twice=_claimed_twice(profile, classes, rules),
        kernel_samples=kernel,
        unclassified_samples=int(frame["samples"].sum()),
    )


def _call_paths(profile: Profile, stacks: "NDArray[np.int64]") -> list[str]:
    # Innermost first, of the kernel.
    names, inside = profile.names["function"].to_numpy(), profile.frames["in_kernel"].to_numpy()
    paths = [profile.places[profile.begins[at] : profile.begins[at + 1]] for at in stacks]
    return [" < ".join(name or "?" for name in names[path[inside[path]]]) for path in paths]


def _claimed_twice(profile: Profile, classes: Classified, own: str | None) -> pd.DataFrame:
    # Where the path decides, rules do not disagree.
    given = [rule for rule in rules_of(own) if not rule.timer and not rule.under]
    is_decided = classes.decided_by >= 0
    decided, samples = classes.decided_by[is_decided], profile.weights[is_decided]
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
