# Which part of a capture single softirqs and polls are looked at.

from typing import TYPE_CHECKING, NamedTuple

from ...answers.question import question
from ...timeline.timeline import Timeline

if TYPE_CHECKING:
    pass


class DetailWindow(NamedTuple):
    """The window of Timeline.excerpt.

    Attributes
    ----------
    is_part : bool
        Whether it is only a part.
    offset_ns, window_ns : int
        Where it begins, from the capture's start, and its length.
    """

    is_part: bool
    offset_ns: int
    window_ns: int


@question(rows=0)
def detail_window(timeline: Timeline) -> DetailWindow:
    """Which part of a very large capture single softirqs and polls are shown of; else all of it.

    is_part, offset_ns (from the capture's start), window_ns.

    Source: Timeline.excerpt, the window whose rows fit in memory.
    """
    part = timeline.excerpt
    return DetailWindow(part is not timeline, part.offset_ns, part.duration_ns)
