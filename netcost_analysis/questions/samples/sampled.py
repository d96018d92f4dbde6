# The recording that has a capture's samples of functions, and their event.

from pathlib import Path
from typing import TYPE_CHECKING

from ...capture.recorder import is_perf
from ...errors import AbsentError, LackingError
from ...timeline.reading import once

if TYPE_CHECKING:
    from ...capture.bundle import Bundle
    from ...capture.capture import Capture

TIMERS = ("cpu-clock", "task-clock")
# Where several events were sampled, the one that stands for time.
_PREFERRED = ("cycles", "cpu-cycles", "cpu_core/cycles/", *TIMERS)
_HOW = "netcost-record --profile functions, or perf record -a -g --kcore, takes them"


@once
def sampled(capture: "Capture") -> "Capture":
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


def _beside(bundle: "Bundle") -> Path | None:
    # Only a folder in the bundle: a link could point anywhere.
    samples = bundle.written_manifest.samples_of_functions
    name = samples.output if samples else None
    if name is None or name in ("", ".", "..") or "/" in name:
        return None
    path = Path(bundle.path, name)
    data = path / "data"
    found = path.is_dir() and data.is_file() and not path.is_symlink() and not data.is_symlink()
    return path if found else None


def events_of(capture: "Capture") -> list[str]:
    # The sampled events, the one that stands for time first. Only headers are read.
    if not is_perf(capture.header) and not is_text(capture):
        return []
    names = dict.fromkeys(one["name"] for one in capture.header["events"] if not one["tracepoint"])
    found = [name for name in names if base_name(name) != "dummy"]
    order = {name: at for at, name in enumerate(_PREFERRED)}
    return sorted(found, key=lambda name: order.get(base_name(name), len(order)))


def is_text(capture: "Capture") -> bool:
    # The output of perf script has names beside the addresses.
    return str(capture.header["format"]) == "text"


def base_name(event: str) -> str:
    # Without perf's modifiers: cycles:ukH.
    return event.partition(":")[0]


def is_timed(event: str) -> bool:
    # Timer samples count ns, and are not taken while interrupts are off.
    return base_name(event) in TIMERS


def chosen_event(capture: "Capture", event: str | None = None) -> str:
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
