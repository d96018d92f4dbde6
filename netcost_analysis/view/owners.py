"""Who had CPU time, as a picture tells owners apart: numbered, named, with kind and cost class."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..timeline.owners import INTERRUPT_CONTEXTS, NOBODY, is_device, kind_of, thief_label

# For no task.
NO_TASK = 0xFFFFFFFF
_STOLEN_BY = {"yes": "stolen_network", "unknown": "stolen_maybe_network"}
# The columns of the sums that determine an owner and its task.
KEYS = ("context", "tid", "comm", "id", "name", "device", "cost_class", "is_network")
# Time at nobody's cost, in addition to the palette's parts.
IDLE_PARTS = {"idle": "idle", "from_idle": "on an idle CPU"}


class Owner(NamedTuple):
    """Who owned a stretch of a CPU's time.

    kind: a key of palette.KIND. part: a key of palette.PART, or of IDLE_PARTS. device: None where
    there is none. task: the place among Owners.tasks of the task whose own time it is, else None.
    """

    label: str
    kind: str
    part: str
    device: str | None
    task: int | None


class Owners:
    """The owners of a timeline, those that had most time first, and its tasks likewise.

    Attributes
    ----------
    owners : list of Owner
        By number.
    tasks : list of tuple
        By number: tid (None where it is not known) and comm.
    of_rows : list of tuple
        Numbers of the owner and the task (NO_TASK for nobody) of each row of the sums.
    """

    def __init__(self, sums: Mapping[str, Sequence[Any]]) -> None:
        rows = list(zip(*(sums[name] for name in KEYS), strict=True))
        named = [(_task_of(row[1], row[2]), _named(*row)) for row in rows]
        by_task = _numbered((task, ns) for (task, _), ns in zip(named, sums["ns"], strict=True))
        by_owner = _numbered((one, ns) for (_, one), ns in zip(named, sums["ns"], strict=True))
        by_task.pop(None, None)
        self.tasks = list(by_task)
        places = {task: number for number, task in enumerate(self.tasks)}
        self.owners = [
            Owner(label, kind, part, device, places.get(task))
            for label, kind, part, device, task in by_owner
        ]
        numbers = {owner: number for number, owner in enumerate(by_owner)}
        self.of_rows = [(numbers[one], places.get(task, NO_TASK)) for task, one in named]


_Task = tuple[int | None, str | None]


def _task_of(tid: int | None, comm: str | None) -> _Task | None:
    return None if tid is None and comm is None else (tid, comm)


def _numbered(rows: Any) -> dict[Any, int]:
    # Those with most ns first. Ties are ordered by text, so that numbers are the same each time.
    total: dict[Any, int] = {}
    for key, ns in rows:
        total[key] = total.get(key, 0) + ns
    return dict(sorted(total.items(), key=lambda one: (-one[1], repr(one[0]))))


def _named(
    context: str,
    tid: int | None,
    comm: str | None,
    id_: int | None,
    name: str | None,
    device: str | None,
    cost_class: str | None,
    is_network: str | None,
) -> tuple[str, str, str, str | None, _Task | None]:
    # Label, kind, part, device, and the task if this is its own time.
    if context == "task":
        label = (comm or NOBODY) if tid is None else f"{comm or NOBODY} ({tid})"
        part = "scheduled" if cost_class == "scheduled" else "own"
        return label, "task", part, None, _task_of(tid, comm)
    if context not in INTERRUPT_CONTEXTS:
        return context, context, context, None, None
    kind = kind_of(context, is_network)
    part = cost_class or "unknown"
    if part not in ("from_idle", "scheduled") and not tid:
        # The task that paid is not known.
        part = "unknown"
    if part == "stolen":
        part = _STOLEN_BY.get(is_network or "unknown", "stolen_other")
    label = thief_label(context, id_, name, device)
    return label, kind, part, device if is_device(device) else None, None
