# The summary of components(). Not a template: `netcost functions` prints it before Jinja2 could be
# imported.

from collections.abc import Callable
from typing import Any

from ...units import absent, plural, share
from .interrupts import HIDDEN, is_interrupt
from .rules import APPLICATION, UNCLASSIFIED

_NAMED = 4
# How a sentence writes text, or a name as code: in Markdown or for a terminal.
Form = Callable[[Any], str]

_FROM_ANOTHER = (
    "A call_function_single interrupt is from another CPU, as RPS sends them for packets: found "
    "behind it, before any softirq ran, is what it cost to receive it, on a virtual machine with "
    "its delivery by the host."
)


def component_summary(parts: dict[str, Any], text: Form, code: Form) -> str:
    """A paragraph of what summed() returns."""
    event = code(parts["sampled_event"])
    if not parts["busy_samples"]:
        return f"None of the {text(plural(parts['samples'], 'sample'))} of {event} is outside idle."
    samples = f"{text(plural(parts['busy_samples'], 'sample'))} of {event} outside idle"
    busy = {row["component"]: row for row in parts["components"] if not absent(row["busy_share"])}
    hidden = busy.pop(HIDDEN, None)
    # Samples without a name or outside the kernel name no component to look up.
    named = [row for name, row in busy.items() if name not in (UNCLASSIFIED, APPLICATION)][:_NAMED]
    largest = [
        f"{text(share(row['busy_share']))}{'' if at else ' are'} {text(row['component'])} "
        f"({text(share(row['busy_share_low']))} to {text(share(row['busy_share_high']))})"
        for at, row in enumerate(named)
    ]
    said = [
        f"Of {samples} {_listed(largest)}."
        if largest
        else f"None of {samples} is of a component by its path."
    ]
    if hidden:
        rows = parts["interrupts_off"][:_NAMED]
        off_in = {row["interrupts_off_in"]: text(share(row["busy_share"])) for row in rows}
        where = [
            f"{part} {'behind a' if is_interrupt(name) else 'in'} {text(name)}"
            for name, part in off_in.items()
        ]
        said.append(
            "A timer took them, which cannot interrupt what runs with interrupts off: "
            f"{text(share(hidden['busy_share']))} are where interrupts were enabled again "
            f"({code(hidden['deciding_functions'])}), {_listed(where)}."
        )
        if "call_function_single interrupt" in off_in:
            said.append(_FROM_ANOTHER)
    unnamed = text(share(parts["unclassified_share"]))
    said.append(f"No rule names {unnamed} of the kernel's samples outside idle.")
    return " ".join(said)


def _listed(parts: list[str]) -> str:
    # "a, b and c"
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
