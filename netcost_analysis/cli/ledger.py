# netcost ledger: the victim x thief matrix.

import shutil
from collections.abc import Sequence
from typing import Any, get_args

import click

from ..timeline.by import By
from .main import capture_arguments, json_option, opened, print_json, window_options
from .table import say, show


@click.command("ledger")
@capture_arguments
@click.option(
    "--by",
    type=click.Choice(get_args(By)),
    default="comm",
    show_default=True,
    help="Tell victims apart by command, task or CPU; or gather what each device did.",
)
@window_options
@json_option
def command(
    path: str, by: By, start: float | None, end: float | None, cpus: tuple[int, ...], as_json: bool
) -> None:
    """Show who lost CPU time to what."""
    from ..display.tables import NO_TASK, ledger_footer, ledger_table, ledger_title
    from ..questions.completeness.words import quick_verdict
    from ..questions.ledger import ledger

    capture = opened(path)
    timeline = capture.timeline(start=start, end=end, cpus=list(cpus) or None)
    matrix, verdict = ledger(timeline, by=by), quick_verdict(capture)
    if as_json:
        print_json(_json(matrix, timeline.summary, verdict))
        return
    say(ledger_title(matrix) + "\n")
    width = shutil.get_terminal_size((132, 24)).columns
    if len(matrix.ns):
        show(ledger_table(matrix, width))
    else:
        print(NO_TASK)
    say(ledger_footer(matrix, verdict))


def _json(matrix: Any, summary: dict[str, Any], verdict: str | None) -> dict[str, Any]:
    from ..display.tables import plain

    victims = []
    for key in matrix.max_ns.index:
        low, shares, max_shares = (
            frame.loc[key] for frame in (matrix.ns, matrix.share, matrix.max_share)
        )
        victims.append(
            {
                **victim_fields(key, matrix.by),
                "on_cpu_ns": plain(matrix.on_cpu_ns[key]),
                "task_ns": plain(matrix.task_ns[key]),
                "stolen_ns": int(matrix.stolen_ns[key]),
                "stolen_max_ns": int(matrix.stolen_max_ns[key]),
                "thieves": [
                    {
                        "thief": thief,
                        "ns": int(low[thief]),
                        "max_ns": int(ns),
                        "share": plain(shares[thief]),
                        "max_share": plain(max_shares[thief]),
                    }
                    for thief, ns in matrix.max_ns.loc[key].items()
                    if ns
                ],
            }
        )
    return {
        **window_fields(summary, matrix.recorded_share, matrix.owned_share, verdict, matrix.notes),
        "by": matrix.by,
        "victims": victims,
        "elsewhere": [
            {"cost_class": cost_class, "thief": thief, "ns": int(ns)}
            for cost_class, row in matrix.elsewhere.iterrows()
            for thief, ns in row.items()
            if ns
        ],
    }


def victim_fields(key: Any, by: str) -> dict[str, Any]:
    # A victim's index entry under the names of its keys.
    from ..display.tables import plain

    if by == "tid":
        return {"tid": plain(key[0]), "comm": plain(key[1])}
    return {"cpu" if by == "cpu" else "comm": plain(key)}


def window_fields(
    summary: dict[str, Any],
    recorded: float | None,
    owned: float | None,
    verdict: str | None,
    notes: Sequence[str],
) -> dict[str, Any]:
    # What every JSON answer about a timeline begins with.
    names = (
        *("start_ns", "end_ns", "resolution_ns", "cpus", "has_switches"),
        *("lost_events", "lost_unplaced", "lost_unknown"),
    )
    known = {name: summary[name] for name in names}
    coverages = {"recorded": recorded, "owned": owned}
    return {**known, "notes": list(notes), **coverages, "verdict": verdict}
