"""Which part of a recording is in question: the victim's run, the load's, or all of it."""

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from .. import _native
from .._native import CaptureError
from ..errors import ArgumentError
from .group import Grouping, aggregates

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..capture.manifest import Load
    from .task import Task

Named = Literal["victim", "load", "trace", "auto"]
NAMED: tuple[Named, ...] = get_args(Named)


class Window(NamedTuple):
    """From when until when, in seconds from the capture's start; None: its own ends.

    of: "victim" or "load" of the bundle, another "task", or "trace", all of it or a part without a
    name. during: in words, "while openssl ran"; "" of a trace.
    """

    start_s: float | None = None
    end_s: float | None = None
    of: str = "trace"
    during: str = ""


def window_named(capture: "Capture", name: Named, victim: "Task | None" = None) -> Window:
    """The part of that name. victim: the task in question, None for the bundle's or a chosen one.

    A victim's run is what the bundle's manifest says; of another task, or where it does not say,
    from when the task was first on a CPU until it was last on one. "auto": the bundle's victim's
    run, else its load's, else the trace.
    """
    if name not in NAMED:
        raise ArgumentError(f"no window {name!r}; there are {', '.join(NAMED)}")
    if name == "trace":
        return Window()
    if name == "auto":
        try:
            ran = (of(capture) for of in (_victims, _loads))
            return next((one for one in ran if isinstance(one, Window)), Window())
        except CaptureError:
            # Whoever asks is told why by what he asks.
            return Window()
    if name == "load":
        found = _loads(capture) or (
            "it does not say when a load ran: give --window victim or trace, or --start and --end"
        )
    else:
        found = _victims(capture, victim) or _seen(capture, victim) or "no task was seen in it"
    if isinstance(found, str):
        raise CaptureError(f"{capture.path}: {found}")
    return found


# None where the bundle has no such victim; a sentence where its run is no part of the recording.
def _victims(capture: "Capture", asked: "Task | None" = None) -> Window | str | None:
    bundle = capture.bundle
    victim = bundle.victim if bundle else None
    if bundle is None or victim is None or asked not in (None, bundle.victim_comm, victim.pid):
        return None
    did = "ran" if victim.attached is None else "was watched"
    name = bundle.victim_comm or "the victim"
    written = _written_down(capture, victim, "victim", f"while {name} {did}")
    return written or _seen(capture, None, of_bundle=True)


def _loads(capture: "Capture") -> Window | str | None:
    load = capture.bundle.manifest.load if capture.bundle else None
    return _written_down(capture, load, "load", "while the load ran") if load else None


def _written_down(capture: "Capture", ran: "Load", of: str, during: str) -> Window | str | None:
    if ran.start_ns is None or ran.end_ns is None or capture.bundle is None:
        return None
    if ran.end_ns <= ran.start_ns:
        return f"its {of} ended before it started"
    try:
        first = capture.start_ns
    except CaptureError as error:
        return str(error)
    # With --trace-for a part of its run was recorded.
    recorded, last = capture.bundle.manifest.window, first + capture.info["duration_ns"]
    start = max(ran.start_ns, recorded.start_ns or 0)
    end = ran.end_ns if recorded.end_ns is None else min(ran.end_ns, recorded.end_ns)
    if min(end, last) <= max(start, first):
        return f"it was recorded while its {of} did not run"
    return Window((start - first) / 1e9, (end - first) / 1e9, of, during)


_STAYS = Grouping("slices", by=("tid", "comm"), ends=("in_ns", "out_ns"))


# From its first stay on a CPU to its last. of_bundle: of the bundle's victim or of nobody.
def _seen(capture: "Capture", asked: "Task | None", of_bundle: bool = False) -> Window | str | None:
    from .groups import named, recorded_victim
    from .task import by_of, is_of, label_of

    whole = capture.whole
    bundles = recorded_victim(whole, [row.comm for row in whole.owned_by()])
    task = bundles if of_bundle else named(whole, asked) or whole.victim
    if task is None:
        return None
    name, by_name = label_of(whole, task), by_of(task) == "comm"
    (stayed,) = aggregates(whole, [_STAYS])
    stays = _native.columns(stayed["groups"])
    columns = ("tid", "comm", "in_ns_least", "out_ns_most")
    rows = zip(*(stays[one] for one in columns), strict=True)
    mine = [row[2:] for row in rows if is_of(row[1] if by_name else row[:2], task)]
    if not mine or whole.missing["on_cpu"]:
        return f"when {name} ran is not known without sched_switch"
    first, (begun, ended) = capture.start_ns, zip(*mine, strict=True)
    of, start, end = "victim" if task == bundles else "task", min(begun), max(ended)
    return Window((start - first) / 1e9, (end - first) / 1e9, of, f"while {name} was seen")
