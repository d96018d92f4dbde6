# The stretch of a capture that single interrupts, softirqs and polls are looked at in.

from ..timeline.timeline import Timeline

# Softirqs, hardirqs and polls of so many take some 400 MB.
_MOST_EVENTS = 5_000_000


def detail(timeline: Timeline) -> Timeline:
    """The stretch of which single interrupts, softirqs and polls are looked at.

    Returns the timeline itself, or of a capture whose tables would not fit in memory a window from
    its middle, with about as many events as do.
    """
    capture, span = timeline.capture, timeline.duration_ns
    events = capture.event_count
    if events <= _MOST_EVENTS or not span:
        return timeline
    width = max(span * _MOST_EVENTS // events, 1)
    start = int(timeline.summary["start_ns"]) - capture.start_ns + (span - width) // 2
    return capture.timeline(start / 1e9, (start + width) / 1e9, timeline.cpus)
