# A task as users name it: all tasks of a comm, or one by tid. Imports no pandas, so that the
# command line starts fast.

from typing import TYPE_CHECKING, overload

from ..errors import AbsentError, no_task
from ..units import ranges
from .by import By
from .owners import Victim, plain_names, summed, victim_of

if TYPE_CHECKING:
    import pandas as pd

    from .tables import Tables

# All tasks of a comm, or one by tid. Anything but a str is a tid, numpy integers too.
Task = int | str

# Every task. A number, as in kill() and perf_event_open(), because a task may have any name.
ALL = -1


class Group(str):
    """Several tasks as one victim, with a name like "cgroup:/system.slice/nginx.service".

    Attributes
    ----------
    tids : frozenset of int
        Its tasks.
    comm : str
        Its name in sentences.
    """

    tids: frozenset[int]
    comm: str

    def __new__(cls, name: str, tids: frozenset[int], comm: str) -> "Group":
        group = super().__new__(cls, name)
        group.tids, group.comm = tids, comm
        return group

    def __reduce__(self) -> tuple[type["Group"], tuple[str, frozenset[int], str]]:
        return Group, (str(self), self.tids, self.comm)


def by_of(task: Task | None) -> By:
    # The kind of victim that is_of() can match against the task.
    is_name = isinstance(task, str | None) and not isinstance(task, Group)
    return "comm" if is_name else "tid"


def is_of(victim: Victim, task: Task | None) -> bool:
    # task: None for any task.
    if isinstance(task, Group):
        return victim[0] in task.tids
    return task is None or task == (victim if isinstance(task, str) else victim[0])


def require_task(timeline: "Tables", task: Task | None) -> None:
    # Raises AbsentError for a task that did not run: its figures would be a misleading 0.
    by, rows = by_of(task), timeline.owned_by()
    if task is not None and not any(
        row.of_task and is_of(victim_of(row, by), task) for row in rows
    ):
        raise no_such_task(timeline, task)


def no_such_task(timeline: "Tables", task: Task) -> AbsentError:
    # Lists the nearest tasks, and those whose name is the given number.
    rows = [row for row in timeline.owned_by() if row.of_task]
    by_name = by_of(task) == "comm"
    ns = summed((row.comm if by_name else str(row.tid), row.ns) for row in rows)
    called = {f"{row.tid} (named {row.comm!r})": 0 for row in rows if row.comm == str(task)}
    where = f" on CPU {ranges(timeline.cpus)}" if timeline.cpus else ""
    known = sorted(ns, key=lambda name: -ns[name])
    return AbsentError(no_task(task, known, list(called), where))


def rows_of(rows: "pd.DataFrame", task: Task | None, prefix: str = "") -> "pd.DataFrame":
    # The rows of a task, by the columns PREFIXtid and PREFIXcomm; all rows for None.
    if task is None:
        return rows
    if isinstance(task, Group):
        mask = rows[f"{prefix}tid"].isin(task.tids)
    elif isinstance(task, str):
        mask = plain_names(rows[f"{prefix}comm"]) == task
    else:
        mask = rows[f"{prefix}tid"] == task
    return rows[mask.fillna(False).to_numpy(dtype=bool)]


@overload
def comm_of(timeline: "Tables", task: Task) -> str: ...
@overload
def comm_of(timeline: "Tables", task: Task | None) -> str | None: ...
def comm_of(timeline: "Tables", task: Task | None) -> str | None:
    # The task's name; for a tid the name that it had longest.
    if isinstance(task, Group):
        return task.comm
    if task is None or isinstance(task, str):
        return task
    ns = summed((row.comm, row.ns) for row in timeline.owned_by() if row.tid == task)
    return str(max(ns, key=ns.__getitem__))


def row_name(timeline: "Tables", task: Task | None) -> str | None:
    # The name of the task's row in an answer by comm; None if it has no row to itself.
    name = comm_of(timeline, task)
    if name is None or isinstance(task, str):
        return None if isinstance(task, Group) else name
    return name if tids_of(timeline, name) == {task} else None


@overload
def label_of(timeline: "Tables", task: Task) -> str: ...
@overload
def label_of(timeline: "Tables", task: Task | None) -> str | None: ...
def label_of(timeline: "Tables", task: Task | None) -> str | None:
    # "openssl", or for a tid "openssl (4711)".
    name = comm_of(timeline, task)
    if isinstance(task, Group):
        return name
    return name if isinstance(task, str | None) else f"{name} ({task})"


def called(timeline: "Tables", task: Task) -> str:
    # Like label_of(), for a sentence: "12 tasks named python" if a name means several.
    number = len(tids_of(timeline, task)) if isinstance(task, str) else 1
    name = label_of(timeline, task)
    return f"{number} tasks named {name}" if number > 1 and not isinstance(task, Group) else name


def tids_of(timeline: "Tables", comm: str) -> set[int]:
    return {row.tid for row in timeline.owned_by() if row.of_task and row.comm == comm and row.tid}
