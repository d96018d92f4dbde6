# Samples of one event in groups, as finely as questions about components and functions need.

from typing import TYPE_CHECKING, Any

from ... import _native
from ...progress import progress
from ...timeline.reading import once
from .interrupts import HIDDEN, off_in
from .rules import components_of, native_rules, rules
from .sample_groups import (
    Asked,
    SampleGroup,
    SampleGroups,
    require_cpu,
    require_names,
    search,
    window_ns,
)
from .sampled import chosen_event, is_text, is_timed

if TYPE_CHECKING:
    from ...capture.capture import Capture


@once
def grouped_samples(source: "Capture", asked: Asked, user: bool = False) -> SampleGroups:
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
    return SampleGroups(event, components, [_group(components, *one) for one in found["parts"]])


def _group(components: list[str], where: Any, what: Any, sums: Any) -> SampleGroup:
    function, module, dso, in_kernel = where
    component, beneath, decided_by, ended = what
    name = components[component]
    hidden = off_in(ended, components[beneath]) if name == HIDDEN else None
    return SampleGroup(function, module, dso, in_kernel, name, hidden, decided_by, *sums)
