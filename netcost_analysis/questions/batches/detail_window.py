# Which part of a capture single softirqs and polls are looked at.

from ...answers.answer import Answer
from ...answers.question import question
from ...timeline.timeline import Timeline


@question(rows=0)
def detail_window(timeline: Timeline) -> Answer:
    """Which part of a very large capture single softirqs and polls are shown for; else all of it.

    Source: Timeline.excerpt, the window whose rows fit in memory.
    """
    part = timeline.excerpt
    return Answer(
        is_part=part is not timeline, offset_ns=part.offset_ns, window_ns=part.duration_ns
    )
