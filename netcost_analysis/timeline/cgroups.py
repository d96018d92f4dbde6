# Tasks by cgroup, from the bundle's snapshots of all tasks before and after the recording.

from typing import TYPE_CHECKING

from ..errors import AbsentError, no_such
from .forks import forks_of
from .reading import once

if TYPE_CHECKING:
    from ..capture.capture import Capture


@once
def cgroups_of(capture: "Capture") -> dict[int, str]:
    """Each tid's cgroup path; empty without a snapshot.

    A task that was forked while it was recorded is in its parent's, unless it is in a snapshot.
    """
    from ..parsers.recorder_texts import parse_tasks

    bundle = capture.bundle
    found: dict[int, str] = {}
    if bundle is None:
        return found
    for side in ("after", "before"):
        for process in parse_tasks(bundle.text(f"{side}/settings/tasks") or "").values():
            found |= dict.fromkeys(process.tids, process.cgroup)
    for parent, child in forks_of(capture) if found else ():
        if parent in found:
            found.setdefault(child, found[parent])
    return found


def tasks_in(capture: "Capture", path: str) -> set[int]:
    """The tasks of a cgroup and of the cgroups below it.

    Raises AbsentError, with the nearest names, where there is none.
    """
    of, inner = cgroups_of(capture), path.rstrip("/") + "/"
    found = {tid for tid, one in of.items() if one == path.rstrip("/") or one.startswith(inner)}
    if not found:
        raise _absent("cgroup", path, of)
    return found


def container(capture: "Capture", name: str) -> str:
    """The cgroup of a container: a folder with its name, or whose name begins with its id.

    Raises AbsentError for none or several.
    """
    of = cgroups_of(capture)
    fitting = set()
    for path in set(of.values()):
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
    raise _absent("container", name, of)


# Digits of a container's id; tools usually show twelve.
_LEAST_OF_ID = 6


def _absent(what: str, name: str, of: dict[int, str]) -> AbsentError:
    known = sorted(set(of.values()))
    if not known:
        return AbsentError(
            f"no {what} is known: the bundle has no list of the host's tasks (settings/tasks), "
            "which netcost-record writes"
        )
    return AbsentError(no_such(what, name, known))
