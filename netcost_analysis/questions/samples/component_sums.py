# Samples in groups, their sums by component, by what ran with interrupts off and by function, and
# the summary of components(). No pandas, and no template: `netcost functions` answers before either
# could be imported.

from collections.abc import Callable, Iterable
from typing import Any

from ... import _native
from ...capture.capture import Capture
from ...progress import progress
from ...stats.shares import effective, share_ends
from ...timeline.reading import once
from ...units import absent, plural, share
from .rules import (
    APPLICATION,
    HIDDEN,
    IDLE,
    UNCLASSIFIED,
    components_of,
    is_interrupt,
    native_rules,
    off_in,
    rules,
)
from .sampled import (
    Asked,
    SampleGroup,
    SampleGroups,
    chosen_event,
    is_text,
    is_timed,
    require_cpu,
    require_names,
    search,
    window_ns,
)

# How many functions are named per component, and how many components in the summary.
_FUNCTIONS, _PARTS = 3, 4
_USER = "(user mode)"
_NAN = float("nan")

Row = dict[str, Any]


@once
def grouped_samples(source: Capture, asked: Asked, user: bool = False) -> SampleGroups:
    # user: functions of programs too. Raises CaptureError as the question does.
    if is_text(source):
        # It needs pandas, whose import takes longer than summing up a recording.
        from ..functions.profile import groups_of_text

        return groups_of_text(source, asked, user)
    event = chosen_event(source, asked.event)
    given = rules(asked.rules)
    components = components_of(given)
    start_ns, end_ns = window_ns(source, asked.start_s, asked.end_s)
    text = source.kallsyms_beside()
    with progress(f"reading the samples of {event}") as advance:
        found = _native.parts(
            source.native,
            event,
            native_rules(given),
            is_timed(event),
            text,
            user,
            search(source) if user else None,
            asked.cpu,
            start_ns,
            end_ns,
            advance,
        )
    require_names(source.path, any(where[3] for where, _, _ in found["parts"]), found["has_names"])
    require_cpu(asked.cpu, found["cpus"])
    parts: list[Any] = found["parts"]
    groups = []
    for where, (component, beneath, decided_by, ended), sums in parts:
        name = components[component]
        hidden = off_in(ended, components[beneath]) if name == HIDDEN else None
        groups.append(SampleGroup._make((*where, name, hidden, decided_by, *sums)))
    return SampleGroups(event, components, groups)


def component_sums(found: SampleGroups) -> dict[str, Any]:
    """What components() answers, its tables as rows, falling by samples."""
    code = {name: at for at, name in enumerate(found.components)}
    ordered = sorted(found.groups, key=lambda group: code[group.component])
    rows = _with_shares(_sums(ordered, "component"), found)
    decided = (group for group in ordered if group.samples and group.decided_by)
    deciding = _sums(decided, "component", "decided_by")
    for row in rows:
        names = [one["decided_by"] for one in deciding if one["component"] == row["component"]]
        row["deciding_functions"] = ", ".join(names[:_FUNCTIONS])
    busy = [row for row in rows if row["component"] != IDLE]
    kernel = [row for row in busy if row["component"] != APPLICATION]
    unnamed = [row for row in kernel if row["component"] == UNCLASSIFIED]
    off = _sums((group for group in found.groups if group.interrupts_off_in), "interrupts_off_in")
    return {
        "components": rows,
        "interrupts_off": [
            row | {"busy_share": row["weight"] / _total(busy, "weight", _NAN)} for row in off
        ],
        "sampled_event": found.event,
        "is_timed": is_timed(found.event),
        "samples": _total(rows, "samples"),
        "busy_samples": _total(busy, "samples"),
        "kernel_samples": _total(kernel, "samples"),
        "unclassified_share": _total(unnamed, "weight") / _total(kernel, "weight", _NAN),
    }


def function_sums(found: SampleGroups, user: bool = False) -> list[Row]:
    """Functions, by component, falling by samples; user: those of programs too."""
    groups = found.groups
    if not user:
        groups = [
            group._replace(function=group.function if group.in_kernel else _USER, dso=None)
            for group in groups
        ]
    return _with_shares(_sums(groups, "function", "module", "dso", "component"), found)


def _sums(groups: Iterable[SampleGroup], *names: str) -> list[Row]:
    # Samples and weight by these fields, most samples first; groups without samples are left out.
    by: dict[tuple[Any, ...], Row] = {}
    for group in groups:
        key = tuple((name, getattr(group, name)) for name in names)
        row = by.setdefault(key, dict(key) | {"samples": 0, "weight": 0})
        row["samples"] += group.samples
        row["weight"] += group.weight
    return sorted((row for row in by.values() if row["samples"]), key=lambda row: -row["samples"])


def _with_shares(rows: list[Row], found: SampleGroups) -> list[Row]:
    # Shares of the time outside idle, with their intervals; NaN for idle itself.
    busy = [group for group in found.groups if group.component != IDLE]
    whole = sum(group.weight for group in busy)
    size = effective(float(whole), sum(group.squares for group in busy))
    for row in rows:
        share = row["weight"] / whole if whole and row["component"] != IDLE else _NAN
        low, high = share_ends(share * size, size)
        row |= {"busy_share": share, "busy_share_low": low, "busy_share_high": high}
    return rows


def _total(rows: list[Row], name: str, none: float = 0) -> Any:
    return sum(row[name] for row in rows) or none


# How a sentence writes text, or a name as code: in Markdown or for a terminal.
Form = Callable[[Any], str]

_FROM_ANOTHER = (
    "A call_function_single interrupt comes from another CPU; RPS sends them to hand over packets. "
    "Samples behind it, before any softirq ran, are the cost of receiving it. On a virtual machine "
    "that includes its delivery by the host."
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
    named = [row for name, row in busy.items() if name not in (UNCLASSIFIED, APPLICATION)][:_PARTS]
    largest: list[str] = []
    for row in named:
        part, low, high = (text(share(row[f"busy_share{end}"])) for end in ("", "_low", "_high"))
        are = "" if largest else " are"
        largest.append(f"{part}{are} {text(row['component'])} ({low} to {high})")
    said = [
        f"Of {samples}, {_listed(largest)}."
        if largest
        else f"None of {samples} belongs to a component by its call path."
    ]
    if hidden:
        rows = parts["interrupts_off"][:_PARTS]
        off_in = {row["interrupts_off_in"]: text(share(row["busy_share"])) for row in rows}
        where = [
            f"{part} {'behind a' if is_interrupt(name) else 'in'} {text(name)}"
            for name, part in off_in.items()
        ]
        said.append(
            "A timer took them, and it cannot interrupt code that runs with interrupts off. So "
            f"{text(share(hidden['busy_share']))} are where interrupts were enabled again "
            f"({code(hidden['deciding_functions'])}): {_listed(where)}."
        )
        if "call_function_single interrupt" in off_in:
            said.append(_FROM_ANOTHER)
    unnamed = text(share(parts["unclassified_share"]))
    said.append(f"No rule names {unnamed} of the kernel's samples outside idle.")
    return " ".join(said)


def _listed(parts: list[str]) -> str:
    # "a, b and c"
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
