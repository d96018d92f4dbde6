# The task that a report is about.


from ..answers.answer import Answer
from ..errors import ArgumentError
from ..timeline.by import By
from ..timeline.reading import once
from ..timeline.task import ALL, Task, require_task
from ..timeline.task_groups import named, recorded_victim, with_forked
from ..timeline.timeline import Timeline
from .stolen_sums import victims

_KIT = "netcost-record"
_RECORDERS = (_KIT, "perf", "perf-exec", "trace-cmd")


def victim(timeline: Timeline) -> Task | None:
    """The task that questions about a victim are of unless they are given one: comm or tid.

    The one that Capture.timeline() was given; else the bundle's victim where it has one and it ran
    in the window, else the task that lost most, else the one longest on a CPU; None where no task
    was seen. Raises AbsentError, with the nearest names, where the one given did not run.
    """
    if timeline.given_victim is not None:
        given = named(timeline, timeline.given_victim)
        require_task(timeline, given)
        return given
    names = [str(name) for name in victims(timeline)]
    if (recorded := recorded_victim(timeline, names)) is not None:
        return recorded
    recorders = {*_RECORDERS, *of_recorder(timeline)}
    others = (name for name in names if name not in recorders)
    return next(others, names[0] if names else None)


@once
def of_recorder(timeline: Timeline) -> set[str]:
    """The names of what only netcost-record started, beside itself.

    None of a bundle with a victim or a load, which it started too.
    """
    bundle = timeline.capture.bundle
    if bundle is not None and (bundle.victim or bundle.manifest.load):
        return set()
    tids: dict[str, set[int]] = {}
    for row in timeline.owned_by():
        if row.comm is not None and row.tid is not None:
            tids.setdefault(row.comm, set()).add(row.tid)
    if _KIT not in tids:
        return set()
    kit = with_forked(timeline.capture, tids[_KIT])
    return {comm for comm, tasks in tids.items() if tasks <= kit} - {*_RECORDERS}


def asked_or_chosen(timeline: Timeline, victim: Task | None, by: By | None = None) -> Task | None:
    # The victim that a question was given, or the timeline's; None for ALL, by CPU, and where no
    # task ran. AbsentError for an unknown task.
    if victim == ALL or (victim is None and by == "cpu"):
        return None
    victim = named(timeline, victim)
    require_task(timeline, victim)
    return timeline.victim if victim is None else victim


def not_by_cpu(by: By, victim: Task | None) -> None:
    # Shares of a victim's time make no sense by CPU.
    if by == "cpu" and victim not in (None, ALL):
        raise ArgumentError("by='cpu' has no victim; choose comm or tid")


def one_asked_or_chosen(timeline: Timeline, victim: Task | None) -> Task | None:
    # The same for questions about one task.
    if victim == ALL:
        raise ArgumentError("this is about one task: choose it by comm or tid")
    return asked_or_chosen(timeline, victim)


def asked_or_given(timeline: Timeline, victim: Task | None) -> Task | None:
    # The same for questions about all tasks unless a victim was given.
    given = timeline.given_victim if victim is None else victim
    return None if given is None else asked_or_chosen(timeline, given)


def victim_of(answer: Answer) -> Task | None:
    # The victim that an answer is about, None for several.
    victim, by = answer.options.get("victim"), answer.options.get("by")
    return asked_or_chosen(answer.timeline, victim, by)
