"""What a view needs before it requests tiles: owners by kind and cost class, and the header."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..plots.palette import INK, KIND, KIND_NAMES, PART, PART_NAMES, VICTIM
from ..timeline.owners import INTERRUPT_CONTEXTS, NOBODY, is_device, kind_of, summed, thief_label
from ..timeline.task import by_of, is_of, label_of

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline

# The number for no task.
NO_TASK = 0xFFFFFFFF
_STOLEN_BY = {"yes": "stolen_network", "unknown": "stolen_maybe_network"}
# The columns of the sums that determine an owner and its task.
KEYS = ("context", "tid", "comm", "id", "name", "device", "cost_class", "is_network")
# Parts that cost no task any time, beside those of the palette.
IDLE_PARTS = {"idle": "idle", "from_idle": "on an idle CPU"}
# Buckets per tile.
BUCKETS = 512
# Both the kind and the part of the victim's own time.
_VICTIM = "victim"
LINKS = ("interrupt", "raiser", "episode", "migration")
# The maximum number of gaps marked, the widest first.
_MOST_MARKS = 10_000


class Owner(NamedTuple):
    """The owner of a stretch of a CPU's time.

    kind: a key of palette.KIND. part: a key of palette.PART or IDLE_PARTS. device: None if none.
    task: if this is a task's own time, its index in Owners.tasks.
    """

    label: str
    kind: str
    part: str
    device: str | None
    task: int | None


class Owners:
    """The owners and tasks of a timeline, numbered from most time to least.

    Attributes
    ----------
    owners : list of Owner
        By number.
    tasks : list of tuple
        By number: tid (None if unknown) and comm.
    of_rows : list of tuple
        For each row of the sums, the numbers of its owner and its task (NO_TASK for none).
    """

    def __init__(self, sums: Mapping[str, Sequence[Any]]) -> None:
        rows = list(zip(*(sums[name] for name in KEYS), strict=True))
        named = [(_task_of(row[1], row[2]), _named(*row)) for row in rows]
        by_task = _numbered((task, ns) for (task, _), ns in zip(named, sums["ns"], strict=True))
        by_owner = _numbered((owner, ns) for (_, owner), ns in zip(named, sums["ns"], strict=True))
        by_task.pop(None, None)
        self.tasks = list(by_task)
        places = {task: number for number, task in enumerate(self.tasks)}
        self.owners = [
            Owner(label, kind, part, device, places.get(task))
            for label, kind, part, device, task in by_owner
        ]
        numbers = {owner: number for number, owner in enumerate(by_owner)}
        self.of_rows = [(numbers[owner], places.get(task, NO_TASK)) for task, owner in named]


_Task = tuple[int | None, str | None]


def _task_of(tid: int | None, comm: str | None) -> _Task | None:
    return None if tid is None and comm is None else (tid, comm)


def _numbered(rows: Any) -> dict[Any, int]:
    # Keys with most ns first. Ties are ordered by text, so that numbers are reproducible.
    return dict(sorted(summed(rows).items(), key=lambda item: (-item[1], repr(item[0]))))


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
    # Returns label, kind, part, device, and the task if this is its own time.
    if context == "task":
        label = (comm or NOBODY) if tid is None else f"{comm or NOBODY} ({tid})"
        part = "scheduled" if cost_class == "scheduled" else "own"
        return label, "task", part, None, _task_of(tid, comm)
    if context not in INTERRUPT_CONTEXTS:
        return context, context, context, None, None
    kind = kind_of(context, is_network)
    part = cost_class or "unknown"
    if part not in ("from_idle", "scheduled") and not tid:
        # The task that paid is unknown.
        part = "unknown"
    if part == "stolen":
        part = _STOLEN_BY.get(is_network or "unknown", "stolen_other")
    label = thief_label(context, id_, name, device)
    return label, kind, part, device if is_device(device) else None, None


def max_level(duration_ns: int) -> int:
    """The lowest level whose first tile covers this duration."""
    return max(-(-max(duration_ns, 1) // BUCKETS) - 1, 0).bit_length()


def header(
    timeline: "Timeline", owners: Owners, gaps: Mapping[str, Sequence[Any]]
) -> dict[str, Any]:
    """The header of a timeline's tiles, for JSON.

    gaps: columns of the table coverage. Times are ns from the window's start. That is begin_ns, as
    text because it does not fit a JavaScript number.
    """
    summary = timeline.summary
    begin_ns, end_ns = int(summary["start_ns"]), int(summary["end_ns"])
    parts = dict.fromkeys(IDLE_PARTS, KIND["idle"])
    shown = [owner._asdict() for owner in owners.owners]
    named = {}
    if (victim := timeline.victim) is not None:
        named = {_VICTIM: f"the victim, {label_of(timeline, victim)}"}
        for owner in shown:
            task = None if owner["task"] is None else owners.tasks[owner["task"]]
            # The victim is a tid or a name, as in victim_of().
            key = task if task is None or by_of(victim) == "tid" else task[1]
            if key and owner["part"] == "own" and is_of(key, victim):
                owner |= {"kind": _VICTIM, "part": _VICTIM}
    colours = dict.fromkeys(named, VICTIM)
    notes = list(timeline.notes)
    if len(gaps["cpu"]) > _MOST_MARKS:
        notes.append(f"only the {_MOST_MARKS:,} widest of {len(gaps['cpu']):,} gaps are marked")
    return {
        "version": 1,
        "begin_ns": str(begin_ns),
        "duration_ns": end_ns - begin_ns,
        "bucket_count": BUCKETS,
        "max_level": max_level(end_ns - begin_ns),
        "cpus": list(summary["cpus"]),
        "owners": shown,
        "tasks": [{"tid": tid, "comm": comm} for tid, comm in owners.tasks],
        "colours": {"kind": KIND | colours, "part": PART | parts | colours, "ink": INK},
        "names": {"kind": KIND_NAMES | named, "part": PART_NAMES | IDLE_PARTS | named},
        "marks": _marks(gaps, begin_ns),
        "links": list(LINKS),
        "absent": {"packets": timeline.missing["polls"], "stolen": timeline.missing["softirqs"]},
        "capture": str(timeline.capture.path),
        "notes": notes,
    }


def _marks(gaps: Mapping[str, Sequence[Any]], begin_ns: int) -> list[dict[str, Any]]:
    # Sorted by CPU and time.
    columns = (gaps[name] for name in ("cpu", "start_ns", "end_ns", "why"))
    rows = sorted(zip(*columns, strict=True))
    widest = sorted(rows, key=lambda row: row[1] - row[2])[:_MOST_MARKS]
    return [
        {"cpu": cpu, "begin_ns": start - begin_ns, "end_ns": end - begin_ns, "what": why}
        for cpu, start, end, why in (rows if len(rows) == len(widest) else sorted(widest))
    ]
