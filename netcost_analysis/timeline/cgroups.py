# Tasks by cgroup, from the bundle's task snapshots before and after the recording.

from typing import TYPE_CHECKING

from ..errors import AbsentError, no_such
from .forks import forks_of
from .reading import once

if TYPE_CHECKING:
    from ..capture.capture import Capture


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
        raise AbsentError(f"several cgroups may be container {name}: {', '.join(sorted(fitting))}")
    raise _absent("container", name, cgroups)


# The least digits of a container's id to accept; tools usually show twelve.
_LEAST_OF_ID = 6


def _absent(what: str, name: str, cgroups: dict[int, str]) -> AbsentError:
    known = sorted(set(cgroups.values()))
    if not known:
        return AbsentError(
            f"no {what} is known: the bundle has no list of the host's tasks (settings/tasks), "
            "which netcost-record writes"
        )
    return AbsentError(no_such(what, name, known))
