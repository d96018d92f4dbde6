"""The timeline at what a row of an answer is about: an episode, a long softirq, a migration."""

from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..units import absent

if TYPE_CHECKING:
    from ..view.widget import TimelineWidget
    from .answer import Answer

# Columns that say where, and when it begins and ends or how long it took: the first that there is.
_CPU = ("cpu", "dest_cpu")
_BEGIN = ("start_ns", "entry_ns", "time_ns")
_END, _LENGTH = ("end_ns", "exit_ns"), ("wall_ns",)


def view_of(answer: "Answer[Any]", row: int) -> "TimelineWidget":
    """Answer.view(), which says what it takes and raises."""
    frame = answer.frame
    if not 0 <= row < len(frame):
        raise ArgumentError(f"no row {row}: the answer has {len(frame)}, from 0 on")
    values = frame.iloc[row].to_dict()

    def first(names: tuple[str, ...]) -> int | None:
        return next((int(values[name]) for name in names if not absent(values.get(name))), None)

    begin, cpu = first(_BEGIN), first(_CPU)
    if begin is None:
        raise ArgumentError(f"rows of {answer.question.name} have no time to look at")
    timeline = answer.timeline
    end, length = first(_END), first(_LENGTH)
    if end is None:
        end = begin + (length or 1)
    origin = int(timeline.summary["start_ns"])
    shown = timeline.view()
    shown.go(begin - origin, end - origin, cpu)
    return shown
