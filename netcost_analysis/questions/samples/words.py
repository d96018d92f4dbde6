# What components and functions say. No templates: `netcost functions` prints it before Jinja2 could
# be imported.

from collections.abc import Callable
from typing import Any

from ...units import absent, plural, share
from .interrupts import HIDDEN, is_interrupt
from .rules import APPLICATION, UNCLASSIFIED
from .summed import Summed

_NAMED = 4
# Of a sentence a part as text, and a name as code: of Markdown, or of a terminal.
Form = Callable[[Any], str]

_FROM_ANOTHER = (
    "A call_function_single interrupt is from another CPU, as RPS sends them for packets: found "
    "behind it, before any softirq ran, is what it cost to receive it, on a virtual machine with "
    "its delivery by the host."
)


def component_figures(found: Summed) -> dict[str, Any]:
    """What of components() is said."""
    busy = [row for row in found.components if not absent(row["busy_share"])]
    hidden = [row for row in busy if row["component"] == HIDDEN]
    # Not named, or not the kernel's: they lead to nothing that can be looked up.
    aside = (HIDDEN, UNCLASSIFIED, APPLICATION)
    return {
        "sampled_event": found.sampled_event,
        "is_timed": found.is_timed,
        "samples": found.samples,
        "busy_samples": found.busy_samples,
        "unclassified_share": found.unclassified_share,
        "largest": [row for row in busy if row["component"] not in aside][:_NAMED],
        "hidden": hidden[0] if hidden else None,
        "off_in": found.interrupts_off[:_NAMED],
    }


def component_words(of: dict[str, Any], text: Form, code: Form) -> str:
    """A paragraph of the figures of components()."""
    event = code(of["sampled_event"])
    if not of["busy_samples"]:
        return f"None of the {text(plural(of['samples'], 'sample'))} of {event} is outside idle."
    samples = f"{text(plural(of['busy_samples'], 'sample'))} of {event} outside idle"
    largest = [
        f"{text(share(row['busy_share']))}{'' if at else ' are'} {text(row['component'])} "
        f"({text(share(row['busy_share_low']))} to {text(share(row['busy_share_high']))})"
        for at, row in enumerate(of["largest"])
    ]
    said = [
        f"Of {samples} {_listed(largest)}."
        if largest
        else f"None of {samples} is of a component by its path."
    ]
    hidden = of["hidden"]
    if hidden:
        off_in = [
            f"{text(share(row['busy_share']))} "
            f"{'behind a' if is_interrupt(row['interrupts_off_in']) else 'in'} "
            f"{text(row['interrupts_off_in'])}"
            for row in of["off_in"]
        ]
        said.append(
            "A timer took them, which cannot interrupt what runs with interrupts off: "
            f"{text(share(hidden['busy_share']))} are where interrupts were enabled again "
            f"({code(hidden['deciding_functions'])}), {_listed(off_in)}."
        )
        if any(
            row["interrupts_off_in"] == "call_function_single interrupt" for row in of["off_in"]
        ):
            said.append(_FROM_ANOTHER)
    unnamed = text(share(of["unclassified_share"]))
    said.append(f"No rule names {unnamed} of the kernel's samples outside idle.")
    return " ".join(said)


def _listed(parts: list[str]) -> str:
    # "a, b and c"
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
