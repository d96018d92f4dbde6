# Several tasks as one victim: an attached service, a cgroup or a container, with what they
# forked. Forks are events; cgroups are in the bundle's lists of tasks.

from typing import TYPE_CHECKING

from ..arrow import columns
from ..capture.event_rows import Chosen, events_table
from ..errors import AbsentError, no_such
from .owners import summed
from .reading import once
from .task import Group, Task, by_of
from .task_events import FORK

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .._native import ArrowTable
    from ..capture.bundle import Bundle
    from ..capture.capture import Capture
    from .tables import Tables

# Of the time of the program that has most.
_NEXT_TO_NOTHING = 0.1
# The least digits of a container's id to accept; tools usually show twelve.
_LEAST_OF_ID = 6
_FORKED = ("parent_pid", "child_pid")


def named(timeline: "Tables", task: Task | None) -> Task | None:
    """The Group that a name like cgroup:PATH means; any other task as it is."""
    if not isinstance(task, str) or isinstance(task, Group) or ":" not in task:
        return task
    if any(row.comm == task for row in timeline.owned_by()):
        # A comm may contain a colon.
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
    """The tasks of the service that the bundle was attached to; None for any other victim."""
    bundle = capture.bundle
    of = bundle.victim.attached if bundle and bundle.victim else None
    if bundle is None or of is None:
        return None
    pid = bundle.victim.pid if bundle.victim else None
    name = f"process:{pid}" if of.to == "process" else f"cgroup:{of.cgroup}"
    # Finding their descendants takes a pass.
    return Group(name, with_forked(capture, service_tids(bundle)), of.comm or name)


def service_tids(bundle: "Bundle") -> set[int]:
    # The tasks in any reading of the service's counters.
    from ..snapshots.counters import readings
    from ..snapshots.service import parse_service_tasks

    tids: set[int] = set()
    for reading in readings(bundle, "victim"):
        tids |= parse_service_tasks(reading.text).comms.keys()
    return tids


def with_forked(capture: "Capture", tids: "Iterable[int]") -> frozenset[int]:
    """Tasks, and their descendants forked during the recording."""
    family = set(tids)
    for parent, child in forks_of(capture):
        if parent in family:
            family.add(child)
    return frozenset(family)


def recorded_victim(timeline: "Tables", names: "Sequence[str]") -> Task | None:
    """The bundle's victim by comm; for an attached service, the group of its tasks.

    None if there is none or it did not run in the window. names: the comms that did.
    """
    bundle = timeline.capture.bundle
    if bundle is None or bundle.victim is None:
        return None
    rows = [row for row in timeline.owned_by() if row.of_task]
    service = attached(timeline.capture)
    if service is not None:
        called = [row.comm for row in rows if row.tid in service.tids]
        # If all tasks of that name belong to the service, the name suffices.
        if len({*called}) == 1 and all(
            row.tid in service.tids for row in rows if row.comm == called[0]
        ):
            return called[0]
        return service if called else None
    comm, ns = bundle.victim_comm, summed(((row.tid, row.comm), row.ns) for row in rows)
    found = None if comm is None else started(timeline.capture, comm, ns)
    if found is not None and (by_of(found) == "tid" or found in names):
        return found
    own = {name: time for (tid, name), time in ns.items() if tid == bundle.victim.pid}
    return max(own, key=lambda name: own[name]) if own else None


def started(capture: "Capture", comm: str, ns: "Mapping[tuple[int | None, str], int]") -> Task:
    """The bundle's victim, whose command begins with comm: that name, where it tells tasks apart.

    Else, where others have the name too, the task that was started and what it forked. ns: own time
    by tid and comm.
    """
    pid = capture.bundle.victim.pid if capture.bundle and capture.bundle.victim else None
    tids = _named(comm, ns)
    if pid is None or tids == {pid}:
        return comm
    forked = with_forked(capture, {pid})
    if pid not in tids:
        # The pid is a shell's. Of `sysctl ...; ./bench` the first program does next to nothing.
        run = forked - {pid}
        by_name = summed((name, time) for (tid, name), time in ns.items() if tid in run)
        most = max(by_name, key=lambda name: by_name[name], default=comm)
        if by_name.get(comm, 0) < _NEXT_TO_NOTHING * by_name.get(most, 0):
            comm, tids = most, _named(most, ns)
    own = tids & forked
    if not own or own == tids:
        return comm
    return min(own) if len(own) == 1 else Group(f"process:{pid}", frozenset(own), f"{comm} ({pid})")


def _named(comm: str, ns: "Iterable[tuple[int | None, str]]") -> set[int]:
    return {tid for tid, name in ns if name == comm and tid}


@once
def forks(capture: "Capture") -> "ArrowTable | None":
    """The fork events in file order, so a child precedes its own children; None without any."""
    if not capture.info["events"].get(FORK):
        return None
    return events_table(capture, FORK, Chosen(), [*_FORKED])


def forks_of(capture: "Capture") -> list[tuple[int, int]]:
    """(parent, child) of each fork, in the same order; empty if the events lack either field."""
    table = forks(capture)
    pids = {} if table is None else columns(table, _FORKED)
    return list(zip(pids["parent_pid"], pids["child_pid"], strict=True)) if len(pids) == 2 else []


@once
def cgroups_of(capture: "Capture") -> dict[int, str]:
    """The cgroup path of each tid; empty without a snapshot.

    A task that was forked during the recording and is in no snapshot gets its parent's cgroup.
    """
    from ..parsers.recorder_texts import parse_tasks

    bundle = capture.bundle
    cgroups: dict[int, str] = {}
    if bundle is None:
        return cgroups
    for side in ("after", "before"):
        for process in parse_tasks(bundle.text(f"{side}/settings/tasks") or "").values():
            cgroups |= dict.fromkeys(process.tids, process.cgroup)
    for parent, child in forks_of(capture) if cgroups else ():
        if parent in cgroups:
            cgroups.setdefault(child, cgroups[parent])
    return cgroups


def tasks_in(capture: "Capture", path: str) -> set[int]:
    """The tasks of a cgroup and of the cgroups below it.

    Raises AbsentError with the nearest names if there are none.
    """
    cgroups, root = cgroups_of(capture), path.rstrip("/") + "/"
    tids = {tid for tid, cgroup in cgroups.items() if f"{cgroup}/".startswith(root)}
    if not tids:
        raise _absent("cgroup", path, cgroups)
    return tids


def container(capture: "Capture", name: str) -> str:
    """The cgroup of a container: one with its name, or whose name begins with its id.

    Raises AbsentError for none or several.
    """
    cgroups = cgroups_of(capture)
    fitting = set()
    for path in set(cgroups.values()):
        parts = path.split("/")
        for at, part in enumerate(parts):
            # "docker-ID.scope", "cri-containerd-ID.scope", "libpod-ID", "ID".
            bare = part.removesuffix(".scope").rpartition("-")[2]
            if name == part or (len(name) >= _LEAST_OF_ID and bare.startswith(name)):
                fitting.add("/".join(parts[: at + 1]))
    if len(fitting) == 1:
        return fitting.pop()
    if fitting:
        raise AbsentError(f"several cgroups match container {name}: {', '.join(sorted(fitting))}")
    raise _absent("container", name, cgroups)


def _absent(what: str, name: str, cgroups: dict[int, str]) -> AbsentError:
    known = sorted(set(cgroups.values()))
    if not known:
        return AbsentError(
            f"the bundle knows no {what}: it has no list of the host's tasks (settings/tasks), "
            "which netcost-record writes"
        )
    return AbsentError(no_such(what, name, known))
