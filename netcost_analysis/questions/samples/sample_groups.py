"""What samples are summed up by, and what a capture has to have for that."""

from typing import TYPE_CHECKING, NamedTuple

from ..._native import CaptureError
from ...capture.within import require_window
from ...errors import AbsentError
from .sampled import is_timed

if TYPE_CHECKING:
    from ...capture.capture import Capture


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

    @property
    def is_timed(self) -> bool:
        """Whether a timer took the samples: of ns, and none where interrupts are off."""
        return is_timed(self.event)


class Asked(NamedTuple):
    """What of a capture's samples, as the question components() takes it."""

    cpu: int | None = None
    event: str | None = None
    start_s: float | None = None
    end_s: float | None = None
    rules: str | None = None


def search(source: "Capture") -> list[str]:
    # Where to look for programs before the files of this machine.
    given = source.beside.symbols
    return [] if given is None else [str(given)]


def window_ns(
    source: "Capture", start_s: float | None, end_s: float | None
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
            f"{path} does not say what the kernel's functions are called: record with "
            "netcost-record --profile functions, or perf record --kcore, as root; or give a "
            "copy of /proc/kallsyms of that boot (--kallsyms)"
        )


def require_cpu(cpu: int | None, cpus: "list[int] | set[int]") -> None:
    if cpu is not None and cpu not in cpus:
        raise AbsentError(f"no sample is of CPU {cpu}")
