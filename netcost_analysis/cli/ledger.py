# netcost ledger: the victim x thief matrix.

import shutil
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, get_args

import click

from ..timeline.by import By
from .main import (
    Part,
    beside_options,
    capture_arguments,
    json_option,
    opened,
    print_json,
    window_options,
)
from .table import say, show

if TYPE_CHECKING:
    from ..questions.ledger import Ledger
    from ..timeline.timeline import Timeline

# Those that no further pass has to find out.
_FACTS = ("softirqs", "interrupts", "polls", "on_cpu")


@click.command("ledger")
@capture_arguments
@click.option(
    "--by",
    type=click.Choice(get_args(By)),
    default="comm",
    show_default=True,
    help="Tell victims apart by command, task or CPU; or gather what each device did.",
)
@beside_options
@window_options
@json_option
def command(path: str, by: By, part: Part, as_json: bool) -> None:
    """Show who lost CPU time to what."""
    from ..questions.completeness.words import quick_verdict
    from ..questions.ledger import ledger
    from ..questions.ledger_tables import NO_TASK, ledger_footer, ledger_table, ledger_title

    capture = opened(path)
    timeline = part.timeline(capture, "auto")
    matrix, verdict = ledger(timeline, by=by), quick_verdict(capture)
    if as_json:
        print_json(_json(matrix, timeline, verdict))
        return
    say(ledger_title(matrix) + "\n")
    width = shutil.get_terminal_size((132, 24)).columns
    if matrix.victims:
        show(ledger_table(matrix, width))
    else:
        print(NO_TASK)
    say(ledger_footer(matrix, verdict))


def _json(matrix: "Ledger", timeline: "Timeline", verdict: str | None) -> dict[str, Any]:
    from ..display.tables import plain

    victims = []
    for victim, row in zip(
        matrix.victims, matrix.gathered(len(matrix.victims)).columns, strict=True
    ):
        thieves = zip(matrix.thieves, row.thieves, strict=True)
        victims.append(
            {
                **victim_fields(victim, matrix.by),
                "on_cpu_ns": row.on_cpu_ns,
                "task_ns": None if row.task is None else row.task.max_ns,
                "stolen_ns": row.stolen.ns,
                "stolen_max_ns": row.stolen.max_ns,
                "thieves": [
                    {"thief": thief, **{name: plain(value) for name, value in of._asdict().items()}}
                    for thief, of in thieves
                    if of.max_ns
                ],
            }
        )
    return {
        **window_fields(timeline, _FACTS, verdict, matrix.notes),
        "by": matrix.by,
        "victims": victims,
        "elsewhere": [
            {"cost_class": cost_class, "thief": thief, "ns": ns}
            for cost_class, taken in matrix.others.items()
            for thief, ns in taken.items()
            if ns
        ],
    }


def victim_fields(key: Any, by: str) -> dict[str, Any]:
    # A victim under the names of its keys.
    if by == "tid":
        return {"tid": key[0], "comm": key[1]}
    return {"cpu" if by == "cpu" else "comm": key}


def window_fields(
    timeline: "Timeline", facts: Iterable[str], verdict: str | None, notes: Sequence[str]
) -> dict[str, Any]:
    # What every JSON answer about a timeline begins with. facts: which may be missing.
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
