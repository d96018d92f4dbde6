# Several tasks as one victim: those of an attached service, a cgroup or a container.

from typing import TYPE_CHECKING

from .cgroups import container, tasks_in
from .forks import forks_of
from .owners import summed
from .reading import once
from .task import Group, Task, tids_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..capture.bundle import Bundle
    from ..capture.capture import Capture
    from .tables import Tables


def named(timeline: "Tables", task: Task | None) -> Task | None:
    """The Group that a name such as cgroup:PATH means; any other task as it is."""
    if not isinstance(task, str) or isinstance(task, Group) or ":" not in task:
        return task
    if any(row.comm == task for row in timeline.owned_by()):
        # A name may be anything.
        return task
    kind, _, name = task.partition(":")
    service = attached(timeline.capture)
    bundle = timeline.capture.bundle
    of = bundle.victim.attached if bundle and bundle.victim else None
    if service is not None and (task == service or (of and task == f"container:{of.container}")):
        return service
    if kind == "cgroup":
        return Group(task, frozenset(tasks_in(timeline.capture, name)), name)
    if kind == "container":
        path = container(timeline.capture, name)
        return Group(task, frozenset(tasks_in(timeline.capture, path)), name)
    return task


@once
def attached(capture: "Capture") -> Group | None:
    """The tasks of the service that the bundle was recorded of; None for any other victim."""
    bundle = capture.bundle
    of = bundle.victim.attached if bundle and bundle.victim else None
    if bundle is None or of is None:
        return None
    pid = bundle.victim.pid if bundle.victim else None
    name = f"process:{pid}" if of.to == "process" else f"cgroup:{of.cgroup}"
    # Their descendants take a pass.
    return Group(name, with_forked(capture, service_tids(bundle)), of.comm or name)


def service_tids(bundle: "Bundle") -> set[int]:
    # Of all readings.
    from ..snapshots.counters import readings
    from ..snapshots.service import parse_service_tasks

    tids: set[int] = set()
    for reading in readings(bundle, "victim"):
        tids |= parse_service_tasks(reading.text).comms.keys()
    return tids


def with_forked(capture: "Capture", tids: "Iterable[int]") -> frozenset[int]:
    """Tasks and their descendants that were forked during the recording."""
    found = set(tids)
    for parent, child in forks_of(capture):
        if parent in found:
            found.add(child)
    return frozenset(found)


def recorded_victim(timeline: "Tables", names: "Sequence[str]") -> Task | None:
    """The bundle's victim by comm, a service as the group of its tasks.

    None where there is none or it did not run in the window. names: of the tasks that did.
    """
    bundle = timeline.capture.bundle
    if bundle is None or bundle.victim is None:
        return None
    rows = [row for row in timeline.owned_by() if row.of_task]
    service = attached(timeline.capture)
    if service is not None:
        called = [row.comm for row in rows if row.tid in service.tids]
        # Where all tasks of its name are the service's, the name says the same.
        if len({*called}) == 1 and all(
            row.tid in service.tids for row in rows if row.comm == called[0]
        ):
            return called[0]
        return service if called else None
    if (comm := bundle.victim_comm) is not None and comm in names:
        return started(timeline.capture, comm, tids_of(timeline, comm))
    pid = bundle.victim.pid
    ns = summed((row.comm, row.ns) for row in rows if pid is not None and row.tid == pid)
    return max(ns, key=lambda one: ns[one]) if ns else None


def started(capture: "Capture", comm: str, named_so: set[int]) -> Task:
    """The bundle's victim, whose name is comm, among the tasks that are named so.

    Where others are too it is the one that was started, with what it forked.
    """
    # The pid is a shell's where the command needs one; then the program has the command's name.
    pid = capture.bundle.victim.pid if capture.bundle and capture.bundle.victim else None
    if len(named_so) < 2 or pid not in named_so:
        return comm
    own = named_so & with_forked(capture, {pid})
    if own == named_so:
        return comm
    return pid if len(own) == 1 else Group(f"process:{pid}", frozenset(own), f"{comm} ({pid})")
