from ..timeline.timeline import Timeline


def detail(timeline: Timeline) -> Timeline:
    return timeline.excerpt
