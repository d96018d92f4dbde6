"""What a picture of a timeline has to know before it asks for a tile."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..plots.palette import INK, KIND, KIND_NAMES, PART, PART_NAMES, VICTIM
from ..timeline.task import by_of, is_of, label_of
from .owners import IDLE_PARTS, Owners

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline

# Buckets of a tile.
BUCKETS = 512
# The kind, and the part, of the victim's own time.
_VICTIM = "victim"
LINKS = ("interrupt", "raiser", "episode", "migration")
# At most so many gaps are marked: the widest.
_MOST_MARKS = 10_000


def max_level(duration_ns: int) -> int:
    """The least level whose first tile covers so many ns."""
    return max(-(-max(duration_ns, 1) // BUCKETS) - 1, 0).bit_length()


def header(
    timeline: "Timeline", owners: Owners, gaps: Mapping[str, Sequence[Any]]
) -> dict[str, Any]:
    """The header of a timeline's tiles, as JSON can hold it.

    gaps: columns of the table coverage. Times are ns from the window's first one; begin_ns says
    which that is, as text: JavaScript's numbers do not hold it.
    """
    summary = timeline.summary
    begin_ns, end_ns = int(summary["start_ns"]), int(summary["end_ns"])
    parts = dict.fromkeys(IDLE_PARTS, KIND["idle"])
    shown = [one._asdict() for one in owners.owners]
    named = {}
    if (victim := timeline.victim) is not None:
        named = {_VICTIM: f"the victim, {label_of(timeline, victim)}"}
        for one in shown:
            task = None if one["task"] is None else owners.tasks[one["task"]]
            # As victim_of() tells them apart.
            told = task if task is None or by_of(victim) == "tid" else task[1]
            if told and one["part"] == "own" and is_of(told, victim):
                one |= {"kind": _VICTIM, "part": _VICTIM}
    colours = dict.fromkeys(named, VICTIM)
    notes = list(timeline.notes)
    if len(gaps["cpu"]) > _MOST_MARKS:
        notes.append(f"of {len(gaps['cpu']):,} gaps the {_MOST_MARKS:,} widest are marked")
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
