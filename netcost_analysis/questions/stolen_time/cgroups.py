"""Per cgroup, a container's or a service's, where its tasks' time on CPU went."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...errors import LackingError
from ...timeline.cgroups import cgroups_of
from ...timeline.timeline import Timeline
from ..stolen import losses

if TYPE_CHECKING:
    from ...answers.answer import Answer

_TIMES = (
    *("on_cpu_ns", "task_ns", "stolen_ns", "stolen_max_ns", "stolen_network_ns"),
    *("stolen_network_max_ns", "displaced_ns"),
)
# In words.
_SHOWN = 5


def _known(timeline: Timeline) -> None:
    if not cgroups_of(timeline.capture):
        raise LackingError(
            "bundle",
            "which cgroup a task is in needs the list of the host's tasks that netcost-record "
            "keeps in a bundle (settings/tasks): this capture has none",
        )


@question(check=_known, columns=("cgroup", "tasks", "stolen_share", *_TIMES[:3]))
def cgroups(timeline: Timeline) -> pd.DataFrame:
    """Per cgroup, where its tasks' time on CPU went.

    - timeline: The window and the CPUs in question, of a bundle.

    A row per cgroup, falling by stolen_max_ns: cgroup (its path, None for tasks that no list has),
    tasks (int64, that had a CPU), on_cpu_ns, task_ns, stolen_ns, stolen_max_ns, stolen_network_ns,
    stolen_network_max_ns, displaced_ns (as in stolen(), sums over its tasks), stolen_share,
    stolen_max_share (of on_cpu_ns).

    A cgroup's tasks are its own, without those of cgroups in it. A task that was forked while it
    was recorded is in its parent's; one that was moved meanwhile in the one it was in before.

    Source: stolen() by task; the bundle's settings/tasks, before and after.
    """
    of = cgroups_of(timeline.capture)
    lost = losses(timeline, "tid")
    tasks: dict[str | None, list[Any]] = {}
    for victim in lost.victims:
        tasks.setdefault(of.get(victim[0]), []).append(victim)
    found = []
    for path, of_tasks in tasks.items():
        whole = lost.together(of_tasks)
        times = {name: whole[name] for name in (*_TIMES, "stolen_share", "stolen_max_share")}
        found.append({"cgroup": path, "tasks": len(of_tasks), **times})
    columns = ["cgroup", "tasks", *_TIMES, "stolen_share", "stolen_max_share"]
    frame = pd.DataFrame(found, columns=columns)
    return frame.sort_values("stolen_max_ns", ascending=False, kind="stable", ignore_index=True)


@cgroups.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    # rows: of those that lost most. others: how many more there are.
    rows = answer.frame.to_dict("records")
    return {"rows": rows[:_SHOWN], "others": len(rows[_SHOWN:])}
