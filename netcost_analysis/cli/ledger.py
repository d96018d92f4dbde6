# netcost ledger: the victim x thief matrix.

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, get_args

import click

from ..timeline.by import By
from .options import (
    beside_options,
    capture_arguments,
    flag,
    json_option,
    opened,
    part,
    print_json,
    window_options,
)
from .table import say, show

if TYPE_CHECKING:
    from ..questions.ledger import Ledger
    from ..timeline.timeline import Timeline

NO_TASK = "No task was seen in the window."
# Facts that need no further pass over the capture.
_FACTS = ("softirqs", "interrupts", "polls", "on_cpu")


@click.command("ledger")
@capture_arguments
@click.option(
    "--by",
    type=click.Choice(get_args(By)),
    default="comm",
    show_default=True,
    help="How to group victims: by command, task or CPU; or what each device did.",
)
@flag("--wide", "Show eight victims instead of three, and every column.")
@beside_options
@window_options
@json_option
def command(path: str, by: By, wide: bool, as_json: bool) -> None:
    """Show who lost CPU time to what."""
    from ..questions.completeness.summary import quick_verdict
    from ..questions.ledger import ledger_of
    from ..questions.ledger_tables import ledger_footer, ledger_table, ledger_title

    timeline = part().timeline(capture := opened(path), "auto")
    matrix, verdict = ledger_of(timeline, by), quick_verdict(capture)
    if as_json:
        print_json(_json(matrix, timeline, by, verdict))
        return
    say(ledger_title(timeline) + "\n")
    if matrix.victims:
        show(ledger_table(matrix, wide), None, wide=wide)
    else:
        print(NO_TASK)
    say(ledger_footer(matrix, timeline, verdict))


def _json(matrix: "Ledger", timeline: "Timeline", by: By, verdict: str | None) -> dict[str, Any]:
    from ..questions.completeness.unrecorded import note_of

    thieves, columns = matrix.gathered(len(matrix.victims))
    victims = [
        {
            **victim_fields(victim, by),
            "on_cpu_ns": column.on_cpu_ns,
            "task_ns": None if column.task is None else column.task.max_ns,
            "stolen_ns": column.stolen.ns,
            "stolen_max_ns": column.stolen.max_ns,
            "thieves": [
                {"thief": thief, **cell._asdict()}
                for thief, cell in zip(thieves, column.thieves, strict=True)
                if cell.max_ns
            ],
        }
        for victim, column in zip(matrix.victims, columns, strict=True)
    ]
    return {
        **window_fields(timeline, _FACTS, verdict, [*timeline.notes, *note_of(timeline)]),
        "by": by,
        "victims": victims,
        "elsewhere": [
            {"cost_class": cost_class, "thief": thief, "ns": ns}
            for cost_class, taken in matrix.elsewhere.items()
            for thief, ns in taken.items()
            if ns
        ],
    }


def victim_fields(key: Any, by: str) -> dict[str, Any]:
    if by == "tid":
        return {"tid": key[0], "comm": key[1]}
    return {"cpu" if by == "cpu" else "comm": key}


def window_fields(
    timeline: "Timeline", facts: Iterable[str], verdict: str | None, notes: Sequence[str]
) -> dict[str, Any]:
    # The fields that begin every JSON answer about a timeline. facts: those that may be missing.
    names = (
        *("start_ns", "end_ns", "resolution_ns", "cpus"),
        *("lost_events", "lost_unplaced", "lost_unknown"),
    )
    return {
        "window": timeline.window.of,
        **{name: timeline.summary[name] for name in names},
        "missing": {fact: why for fact in facts if (why := timeline.missing[fact])},
        "notes": list(notes),
        "recorded": timeline.recorded,
        "owned": timeline.owned,
        "verdict": verdict,
    }
