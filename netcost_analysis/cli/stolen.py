# netcost stolen: where each victim's time on CPU went.

from typing import TYPE_CHECKING, Any

import click

from ..timeline.task import ALL, Group, Task, by_of, called
from ..units import printable
from .arguments import TASK
from .fail_if import conclude, condition_options
from .ledger import NO_TASK, victim_fields, window_fields
from .options import (
    beside_options,
    capture_arguments,
    json_option,
    opened,
    part,
    print_json,
    wide_option,
    window_options,
)
from .table import say, show

if TYPE_CHECKING:
    from ..questions.stolen import StolenFrom
    from ..questions.thresholds import Condition, Threshold
    from ..timeline.timeline import Timeline


@click.command("stolen", short_help="Show what each task lost.")
@capture_arguments
@click.option(
    "--victim",
    type=TASK,
    help=(
        "Only this task, in full: a name or tid. Several tasks as one: process:PID of an attached "
        "service, cgroup:PATH, container:NAME."
    ),
)
@condition_options(
    "Exit with 3 where it is so of the victim, as 'stolen_share > 5%': a figure of docs/cli.md's "
    "victims, where all of its range is. May be repeated."
)
@wide_option
@beside_options
@window_options
@json_option
def command(
    path: str,
    victim: Task | None,
    conditions: "tuple[Threshold, ...]",
    unjudged: str,
    as_json: bool,
) -> None:
    """Show how much of each task's time on CPU was its own, and what a monitor would say.

    Of a recording that was attached to a service, the service is the first row: all its tasks.
    """
    from ..display.tables import window_text
    from ..questions.completeness.summary import quick_verdict
    from ..questions.completeness.unrecorded import note_of
    from ..questions.first_words import first_words
    from ..questions.network_cost import cost_of, cost_words
    from ..questions.stolen import StolenFrom, stolen_from
    from ..questions.stolen_sums import preload, stolen_sums
    from ..timeline.task_groups import attached, named
    from .stolen_tables import MAIN, ROWS, detail, overview, show_life

    capture = opened(path)
    victim = None if victim == ALL else victim
    timeline = part().timeline(capture, "auto", victim)
    victim = named(timeline, victim)
    preload(timeline, lives=as_json or victim is not None)
    service, rest = None, None
    if victim is None:
        lost, group = stolen_sums(timeline), timeline.victim if attached(capture) else None
        # A service whose tasks share one name is that row.
        names = sorted(lost.rows, key=lambda name: name != group)
        everyone = [StolenFrom(name, lost.rows[name], lost.taken_from([name])) for name in names]
        if others := names[ROWS:]:
            rest = lost.together(others)
        if isinstance(group, Group):
            service = group, stolen_from(timeline, group)
    else:
        everyone = [stolen_from(timeline, victim)]
    regime = capture.bundle.accounting if capture.bundle else None
    about = timeline.victim if victim is None else victim
    judged = _judged(timeline, about, conditions) if conditions else []
    beyond = None
    if capture.bundle is not None:
        # Importing this takes 8 ms of 128, which a bare recording need not spend.
        from ..questions.beyond_trace import beyond_trace

        beyond = beyond_trace(timeline, victim)
    verdict, notes = quick_verdict(capture), [*timeline.notes, *note_of(timeline)]
    if as_json:
        print_json(
            {
                **window_fields(timeline, timeline.missing, verdict, notes),
                "accounting": regime.regime if regime else None,
                "beyond_trace": beyond._asdict() if beyond else None,
                "service": _fields(service[1], service[0]) if service else None,
                "victims": [_fields(loss, victim) for loss in everyone],
                **_beside_victims(timeline, victim),
            }
        )
        conclude(judged, unjudged)
        return
    cost = cost_of(timeline)
    first = first_words(timeline, about, cost, beyond)
    say("\n".join(map(printable, [*first, *cost_words(timeline, cost, alone=not first)])))
    window = window_text(timeline.duration_ns, timeline.summary["cpus"], timeline.window.during)
    if victim is None:
        say(f"\nWhere each task's time on CPU went {window}\n")
        if everyone:
            show(overview(timeline, service and service[1], everyone, rest), MAIN)
            if service:
                say(
                    "The first row is the service, with all its tasks as one; the rows below have "
                    "them by name too; "
                    f"--victim {printable(service[0])} shows it in full."
                )
        else:
            say(f"{NO_TASK} netcost ledger has the interrupts that took time from no task.")
    else:
        [loss] = everyone
        name = called(timeline, victim)
        say(f"\nWhere the time of {printable(name)} on CPU went {window}\n")
        show(detail(timeline, loss, regime))
        if not timeline.missing["on_cpu"]:
            show_life(timeline, victim)
    below = {
        "accounting": regime.text if regime and victim is None else None,
        "verdict": verdict,
    }
    if any(below.values()):
        print()
    for name, text in below.items():
        if text:
            say(f"{name:<10} {printable(text)}")
    for note in dict.fromkeys(notes):
        say(f"note: {printable(note)}")
    conclude(judged, unjudged)


def _judged(
    timeline: "Timeline", task: Task | None, conditions: "tuple[Threshold, ...]"
) -> "list[Condition]":
    from ..questions.stolen import stolen_from

    if task is None:
        return [condition.of_row({condition.name: None}) for condition in conditions]
    row = stolen_from(timeline, task).row
    return [condition.of_row(row) for condition in conditions]


def _fields(loss: "StolenFrom", victim: Task | None) -> dict[str, Any]:
    by = by_of(victim)
    keys = victim_fields((victim, loss.comm) if by == "tid" else loss.comm, by)
    if isinstance(victim, Group):
        keys = {"group": str(victim), "comm": loss.comm}
    return {**keys, **loss.row, **loss.parts}


def _beside_victims(timeline: "Timeline", victim: Task | None) -> dict[str, Any]:
    # None for what the capture cannot answer.
    from ..questions.network_cost import cost_of
    from .stolen_tables import lives_of, waits_of

    network, lives = cost_of(timeline)._asdict(), None
    cpus = [{"cpu": cpu, **cost._asdict()} for cpu, cost in network.pop("by_cpu").items()]
    if not timeline.missing["on_cpu"]:
        rows = lives_of(timeline, victim).items()
        lives = [{**victim_fields(key, by_of(victim)), **row} for key, row in rows]
    return {
        "network_cost": {**network, "of_cpus": cpus},
        "lifetimes": lives,
        "waited_for": waits_of(timeline, victim),
    }
