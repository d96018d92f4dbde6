"""Per cgroup, a container's or a service's, where its tasks' time on CPU went."""

from typing import Any

import pandas as pd

from ...answers.question import Answer, question
from ...errors import LackingError
from ...timeline.task_groups import cgroups_of
from ...timeline.timeline import Timeline
from ..stolen_sums import stolen_sums

_FIGURES = (
    *("on_cpu_ns", "task_ns", "stolen_ns", "stolen_max_ns", "stolen_network_ns"),
    *("stolen_network_max_ns", "displaced_ns", "stolen_share", "stolen_max_share"),
)


def _known(timeline: Timeline) -> None:
    if not cgroups_of(timeline.capture):
        raise LackingError(
            "bundle",
            "this capture has no list of the host's tasks and their cgroups: netcost-record saves "
            "it in a bundle (settings/tasks)",
        )


@question(
    check=_known, columns=("cgroup", "tasks", "stolen_share", "on_cpu_ns", "task_ns", "stolen_ns")
)
def cgroups(timeline: Timeline) -> Answer:
    """Where the time on CPU of each cgroup's tasks went.

    - timeline: The window and the CPUs in question, of a bundle.

    A row per cgroup, by falling stolen_max_ns; None for tasks that no list has. A cgroup's tasks
    are its own, without those of cgroups in it. A task that was forked during the recording counts
    in its parent's cgroup; one that was moved counts in the cgroup that it was in before.

    Source: stolen() by task; the bundle's settings/tasks, before and after.
    """
    cgroup_of, lost = cgroups_of(timeline.capture), stolen_sums(timeline, "tid")
    tasks: dict[str | None, list[Any]] = {}
    for victim in lost.rows:
        tasks.setdefault(cgroup_of.get(victim[0]), []).append(victim)
    rows = []
    for path, victims in tasks.items():
        together = lost.together(victims)
        figures = {name: together[name] for name in _FIGURES}
        rows.append({"cgroup": path, "tasks": len(victims), **figures})
    frame = pd.DataFrame(rows, columns=["cgroup", "tasks", *_FIGURES])
    frame = frame.sort_values("stolen_max_ns", ascending=False, kind="stable", ignore_index=True)
    return Answer(frame)
