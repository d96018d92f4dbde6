# What the rules of components leave over, and what two of them claim.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...answers.question import question
from ..samples.parts import IDLE
from ..samples.rules import UNCLASSIFIED
from ..samples.rules import rules as rules_of
from ..samples.sampled import chosen_event, sampled
from .profile import classified, profile

if TYPE_CHECKING:
    from ...answers.answer import Answer
    from ...capture.capture import Capture


class Unclassified(NamedTuple):
    """Answer of `unclassified`.

    Attributes
    ----------
    unclassified : pandas.DataFrame
        A row per function that samples of component "unclassified" were in, falling by samples:
        function, module, samples, kernel_share, call_path.
    claimed_twice : pandas.DataFrame
        A row per sampled function that rules of several components name: function, module,
        component (the first, which counts), further_components, samples (that it decided).
    kernel_samples : int
        Samples in the kernel outside idle.
    unclassified_samples : int
        Those that no rule names.
    """

    unclassified: pd.DataFrame
    claimed_twice: pd.DataFrame
    kernel_samples: int
    unclassified_samples: int


@question(
    check=sampled,
    main="unclassified",
    columns=("function", "samples", "kernel_share", "call_path"),
    rows=20,
)
def unclassified(
    capture: "Capture", event: str | None = None, rules: str | None = None
) -> Unclassified:
    """Which of the kernel's functions no rule of components names, and which several do.

    - capture: With samples, of its own or beside it in its bundle.
    - event, rules: As components() takes them.

    What a user's own file of rules has to add, and what rules disagree about.

    Source: perf's samples, and questions/functions/components.toml.
    """
    source = sampled(capture)
    chosen = chosen_event(source, event)
    one, found = profile(source, chosen), classified(source, chosen, rules)
    one.require_names(source.path)
    idle = found.components.index(IDLE) if IDLE in found.components else -1
    kernel = int(one.weights[one.in_kernel & (found.of_stack != idle)].sum())
    left = np.flatnonzero(found.of_stack == found.components.index(UNCLASSIFIED))
    names = one.names["function"].to_numpy()
    rows = pd.DataFrame(
        {
            "function": names[one.leaves[left]],
            "module": one.names["module"].to_numpy()[one.leaves[left]],
            "samples": one.weights[left],
            # Outermost first, as one reads who called whom.
            "call_path": [
                " < ".join(names[place] or "?" for place in one.places[begin:end] if inside[place])
                for begin, end in zip(one.begins[left], one.begins[left + 1], strict=True)
                for inside in (one.frames["in_kernel"].to_numpy(),)
            ],
        }
    )
    rows = rows[rows["samples"] > 0].sort_values("samples", ascending=False, kind="stable")
    by = rows.groupby(["function", "module"], sort=False)
    frame = by.agg(samples=("samples", "sum"), call_path=("call_path", "first")).reset_index()
    frame.insert(3, "kernel_share", frame["samples"] / (kernel or np.nan))
    frame[["function", "module"]] = frame[["function", "module"]].replace("", None)
    frame = frame.sort_values("samples", ascending=False, kind="stable", ignore_index=True)
    return Unclassified(frame, _twice(one, found, rules), kernel, int(frame["samples"].sum()))


def _twice(one: Any, found: Any, own: str | None) -> pd.DataFrame:
    # Where the path decides, rules do not disagree.
    given = [rule for rule in rules_of(own) if not rule.timer and not rule.under]
    decided = found.decided_by >= 0
    counts = np.bincount(
        found.decided_by[decided], one.weights[decided], minlength=len(one.frames)
    ).astype("i8")
    names = one.names.assign(samples=counts)
    by = names[counts > 0].groupby(["function", "module"], sort=False)["samples"].sum()
    functions, modules = ([str(pair[at]) for pair in by.index] for at in (0, 1))
    named = [rule.names(functions, modules) for rule in given]
    rows = []
    for at, samples in enumerate(by):
        claims = list(
            dict.fromkeys(rule.component for rule, of in zip(given, named, strict=True) if of[at])
        )
        if len(claims) > 1:
            pair = functions[at], modules[at] or None
            rows.append((*pair, claims[0], ", ".join(claims[1:]), samples))
    columns = ["function", "module", "component", "further_components", "samples"]
    frame = pd.DataFrame(rows, columns=columns).astype({"samples": "int64"})
    return frame.sort_values("samples", ascending=False, kind="stable", ignore_index=True)


@unclassified.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    found = answer.result
    return {
        "kernel_samples": found.kernel_samples,
        "unclassified_samples": found.unclassified_samples,
        "functions": len(found.unclassified),
        "claimed": found.claimed_twice[:5].to_dict("records"),
    }
