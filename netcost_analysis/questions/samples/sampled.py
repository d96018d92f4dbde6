# The recording that has a capture's samples of functions, their event, what they are summed up by,
# and what a capture has to have for that.

from pathlib import Path
from typing import NamedTuple

from ..._native import CaptureError
from ...capture.bundle import Bundle
from ...capture.capture import Capture
from ...capture.recorder import is_perf
from ...capture.within import require_window
from ...errors import AbsentError, LackingError
from ...timeline.reading import once

TIMERS = ("cpu-clock", "task-clock")
# Where several events were sampled, the one that stands for time.
_PREFERRED = ("cycles", "cpu-cycles", "cpu_core/cycles/", *TIMERS)
_HOW = "netcost-record --profile functions, or perf record -a -g --kcore, takes them"


@once
def sampled(capture: Capture) -> Capture:
    # The capture itself, or the recording of samples beside it in the bundle. Raises CaptureError
    # where there are no samples.
    if events_of(capture):
        return capture
    beside = _beside(capture.bundle) if capture.bundle else None
    if beside is not None:
        from ...capture.capture import Capture

        other = Capture(beside, beside=capture.beside.for_samples)
        if events_of(other):
            return other
    raise LackingError("samples", f"no samples of functions were taken: {_HOW}")


def _beside(bundle: Bundle) -> Path | None:
    # Only a folder in the bundle: a link could point anywhere.
    samples = bundle.written_manifest.samples_of_functions
    name = samples.output if samples else None
    if name is None or name in ("", ".", "..") or "/" in name:
        return None
    path = Path(bundle.path, name)
    data = path / "data"
    found = path.is_dir() and data.is_file() and not path.is_symlink() and not data.is_symlink()
    return path if found else None


def events_of(capture: Capture) -> list[str]:
    # The sampled events, the one that stands for time first. Only headers are read.
    if not is_perf(capture.header) and not is_text(capture):
        return []
    names = dict.fromkeys(one["name"] for one in capture.header["events"] if not one["tracepoint"])
    found = [name for name in names if base_name(name) != "dummy"]
    order = {name: at for at, name in enumerate(_PREFERRED)}
    return sorted(found, key=lambda name: order.get(base_name(name), len(order)))


def is_text(capture: Capture) -> bool:
    # The output of perf script has names beside the addresses.
    return str(capture.header["format"]) == "text"


def base_name(event: str) -> str:
    # Without perf's modifiers: cycles:ukH.
    return event.partition(":")[0]


def is_timed(event: str) -> bool:
    # Timer samples count ns, and are not taken while interrupts are off.
    return base_name(event) in TIMERS


class OfEvent:
    """What follows from the event that samples are of."""

    event: str

    @property
    def is_timed(self) -> bool:
        """Whether a timer took the samples: of ns, and none where interrupts are off."""
        return is_timed(self.event)

    @property
    def unit(self) -> str:
        """What its weights count: ns, or the event."""
        return "ns" if self.is_timed else self.event


def chosen_event(capture: Capture, event: str | None = None) -> str:
    # The event asked for, else the one that stands for time.
    found = events_of(capture)
    if event is None:
        if len(found) == 1:
            # Counting samples takes a pass over the recording.
            return found[0]
        counts = capture.info["events"]
        return next((name for name in found if counts.get(name)), found[0])
    if event in found:
        return event
    raise AbsentError(f"no samples of {event} in this capture; it holds {', '.join(found)}")


class SampleGroup(NamedTuple):
    """Samples that nothing tells apart.

    function, module, dso: where they are, None where that is not known; dso only of programs, where
    these were asked for. interrupts_off_in: None where they were on. decided_by: the function that
    put them into their component. samples: of those asked for; weight, squares: the sums of what
    each stands for, and of its square.
    """

    function: str | None
    module: str | None
    dso: str | None
    in_kernel: bool
    component: str
    interrupts_off_in: str | None
    decided_by: str | None
    samples: int
    weight: int
    squares: float


class SampleGroups(NamedTuple):
    """All of them, in the order of their first samples.

    Those with samples of none that were asked for stand apart from all others. components: all
    there are, in the order of their rules.
    """

    event: str
    components: list[str]
    groups: list[SampleGroup]


class Asked(NamedTuple):
    """What of a capture's samples, as the question components() takes it."""

    cpu: int | None = None
    event: str | None = None
    start_s: float | None = None
    end_s: float | None = None
    rules: str | None = None


def search(source: Capture) -> list[str]:
    # Where to look for programs before the files of this machine.
    given = source.beside.symbols
    return [] if given is None else [str(given)]


def window_ns(
    source: Capture, start_s: float | None, end_s: float | None
) -> tuple[int | None, int | None]:
    # By the recording's clock. Raises CaptureError for a window outside the recording.
    if start_s is None and end_s is None:
        return None, None
    require_window(source, start_s, end_s)
    start, end = (
        at if at is None else source.start_ns + round(at * 1e9) for at in (start_s, end_s)
    )
    return start, end


def require_names(path: str, in_kernel: bool, known: bool) -> None:
    # in_kernel: whether any sample is in the kernel. known: whether any frame has a name.
    if in_kernel and not known:
        raise CaptureError(
            f"{path} has no names of kernel functions: record with netcost-record --profile "
            "functions, or perf record --kcore, as root; or give a copy of /proc/kallsyms of that "
            "boot (--kallsyms)"
        )


def require_cpu(cpu: int | None, cpus: "list[int] | set[int]") -> None:
    if cpu is not None and cpu not in cpus:
        raise AbsentError(f"no sample was taken on CPU {cpu}")
