# Samples of one event, summed up by all that questions about components and functions tell apart.

from typing import TYPE_CHECKING, Any, NamedTuple

from ... import _native
from ..._native import CaptureError
from ...errors import AbsentError
from ...progress import progress
from ..inputs import once
from .interrupts import HIDDEN, off_in
from .rules import components_of, native_rules, rules
from .sampled import TIMERS, base_name, chosen_event, is_text

if TYPE_CHECKING:
    from ...capture.capture import Capture

IDLE = "idle"


class Part(NamedTuple):
    """Samples that nothing tells apart.

    function, module, dso: where they are, None where that is not known; dso only of programs, where
    these were asked for. decided_by: the function that put them into their component. off_in: what
    interrupts were off in, None where they were on. samples: of those asked for, weight: what they
    stand for, squares: the sum of the squares of that.
    """

    function: str | None
    module: str | None
    dso: str | None
    in_kernel: bool
    component: str
    off_in: str | None
    decided_by: str | None
    samples: int
    weight: int
    squares: float


class Parts(NamedTuple):
    """All of them, in the order of their first samples.

    Those with samples of none that were asked for stand apart from all others. components: all
    there are, in the order of their rules.
    """

    event: str
    components: list[str]
    parts: list[Part]

    @property
    def is_timed(self) -> bool:
        """Whether a timer took the samples: of ns, and none where interrupts are off."""
        return base_name(self.event) in TIMERS


class Asked(NamedTuple):
    """What of a capture's samples, as the question components() takes it."""

    cpu: int | None = None
    event: str | None = None
    start_s: float | None = None
    end_s: float | None = None
    rules: str | None = None


@once
def parts(source: "Capture", asked: Asked, user: bool = False) -> Parts:
    # user: functions of programs too. Raises CaptureError as the question does.
    event = chosen_event(source, asked.event)
    if is_text(source):
        from ..functions.profile_parts import parts_of_text

        return parts_of_text(source, event, asked, user)
    given = rules(asked.rules)
    components = components_of(given)
    start_ns, end_ns = window_ns(source, asked.start_s, asked.end_s)
    text = source.kallsyms_beside()
    with progress(f"reading the samples of {event}") as advance:
        found = _native.parts(
            source.native,
            event,
            native_rules(given),
            base_name(event) in TIMERS,
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
    return Parts(event, components, [_part(components, *one) for one in found["parts"]])


def _part(components: list[str], where: Any, what: Any, sums: Any) -> Part:
    function, module, dso, in_kernel = where
    component, beneath, decided_by, ended = what
    name = components[component]
    hidden = off_in(ended, components[beneath]) if name == HIDDEN else None
    return Part(function, module, dso, in_kernel, name, hidden, decided_by, *sums)


def search(source: "Capture") -> list[str]:
    # Where programs are looked for before this machine's own files.
    given = source.beside.symbols
    return [] if given is None else [str(given)]


def window_ns(
    source: "Capture", start_s: float | None, end_s: float | None
) -> tuple[int | None, int | None]:
    # Of the recording's clock. Raises CaptureError for a window outside the recording.
    if start_s is None and end_s is None:
        return None, None
    source.timeline(start_s, end_s).require_inside()
    start, end = (
        at if at is None else source.start_ns + round(at * 1e9) for at in (start_s, end_s)
    )
    return start, end


def require_names(path: str, in_kernel: bool, known: bool) -> None:
    # in_kernel: whether any sample is. known: whether any frame has a name.
    if in_kernel and not known:
        raise CaptureError(
            f"{path} does not say what the kernel's functions are called: record with "
            "netcost-record --profile functions, or perf record --kcore, as root; or give a "
            "copy of /proc/kallsyms of that boot (--kallsyms)"
        )


def require_cpu(cpu: int | None, cpus: "list[int] | set[int]") -> None:
    if cpu is not None and cpu not in cpus:
        raise AbsentError(f"no sample is of CPU {cpu}")
