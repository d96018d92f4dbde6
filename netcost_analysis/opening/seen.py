"""What a trace shows of a victim that only its name is known of."""

from typing import TYPE_CHECKING, NamedTuple

from .._native import CaptureError

if TYPE_CHECKING:
    from ..capture.capture import Capture

_EXEC, _EXIT = "sched:sched_process_exec", "sched:sched_process_exit"


class Seen(NamedTuple):
    """What the events tell of the tasks of a name.

    pids, cpus: theirs, and where they ran, in order. start_ns, end_ns: when the only one began to
    execute its program and when it exited, None where that was not recorded.
    """

    pids: tuple[int, ...] = ()
    cpus: tuple[int, ...] = ()
    start_ns: int | None = None
    end_ns: int | None = None

    @property
    def pid(self) -> int | None:
        """Of the only task; None for none or several."""
        return self.pids[0] if len(self.pids) == 1 else None

    @property
    def cpu(self) -> int | None:
        """The only CPU that they ran on; None for none or several."""
        return self.cpus[0] if len(self.cpus) == 1 else None


def seen_of(capture: "Capture", comm: str) -> Seen:
    """What a capture shows of the tasks of a name; nothing where it makes no ledger."""
    try:
        rows = capture.timeline().owned_by()
    except CaptureError:
        return Seen()
    own = {(row.tid, row.cpu) for row in rows if row.comm == comm and row.context == "task"}
    pids = tuple(sorted({tid for tid, _ in own if tid}))
    seen = Seen(pids, tuple(sorted({cpu for tid, cpu in own if tid})))
    if seen.pid is None:
        return seen
    start_ns, end_ns = (_last(capture, event, seen.pid) for event in (_EXEC, _EXIT))
    if start_ns is not None and end_ns is not None and end_ns <= start_ns:
        # Another task had the number before.
        return seen
    return seen._replace(start_ns=start_ns, end_ns=end_ns)


def _last(capture: "Capture", event: str, pid: int) -> int | None:
    # taskset and the like execute one program after another: the last is the victim.
    if not capture.info["events"].get(event):
        return None
    frame = capture.events(event)
    if not {"time_ns", "pid"} <= set(frame.columns):
        return None
    times = frame["time_ns"][frame["pid"] == pid].dropna()
    return int(times.max()) if len(times) else None
