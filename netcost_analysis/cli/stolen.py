# netcost stolen: per victim, where its time on CPU went.

from typing import TYPE_CHECKING, Any

import click

from ..timeline.owners import by_total, summed
from ..timeline.task import ALL, Group, Task, by_of
from ..units import absent, duration, plural, printable, share
from .arguments import TASK
from .fail_if import Condition, Judged, conclude, condition_option
from .ledger import victim_fields, window_fields
from .main import (
    Part,
    beside_options,
    capture_arguments,
    json_option,
    opened,
    print_json,
    window_options,
)
from .stolen_json import beside_victims, lives_of, waits_of
from .table import by_importance, left_out, say, show, wide_option

if TYPE_CHECKING:
    from ..capture.accounting import Accounting
    from ..display.tables import Table
    from ..questions.beyond_trace import BeyondTrace
    from ..questions.stolen import Loss
    from ..timeline.timeline import Timeline

_ROWS = 12
_HOLDERS = 3


@click.command("stolen", short_help="Show what each task lost.")
@capture_arguments
@click.option(
    "--victim",
    type=TASK,
    help="Only this one, in full: a name, a tid, or several tasks as one: process:PID of a service "
    "that was attached to, cgroup:PATH, container:NAME.",
)
@condition_option(
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
    conditions: tuple[Condition, ...],
    wide: bool,
    part: Part,
    as_json: bool,
) -> None:
    """Show how much of each task's time on CPU was its own, and what a monitor would say.

    Of a recording that was attached to a service, the service is the first row: all its tasks.
    """
    from ..display.tables import label, window_text
    from ..questions.completeness.unrecorded import note_of
    from ..questions.completeness.words import quick_verdict
    from ..questions.first_words import first_words
    from ..questions.ledger_tables import NO_TASK
    from ..questions.losses import losses
    from ..questions.network_cost import cost_of, cost_words
    from ..questions.one_pass import read_for_stolen
    from ..questions.stolen import Loss, loss_of
    from ..timeline.task_groups import attached, named

    capture = opened(path)
    victim = None if victim == ALL else victim
    timeline = part.timeline(capture, "auto", victim)
    victim = named(timeline, victim)
    read_for_stolen(timeline, lives=as_json or victim is not None)
    service, rest = None, None
    if victim is None:
        lost = losses(timeline)
        everyone = [Loss(one, row, lost.taken_from([one])) for one, row in lost.rows().items()]
        if lost.victims[_ROWS:]:
            rest = lost.together(lost.victims[_ROWS:])
        of = timeline.victim if attached(timeline) else None
        if isinstance(of, Group):
            service = of, loss_of(timeline, of)
    else:
        everyone = [loss_of(timeline, victim)]
    judged = _judged(timeline, victim, conditions)
    regime = capture.bundle.accounting if capture.bundle else None
    about = timeline.victim if victim is None else victim
    beyond = _beyond(timeline, victim)
    verdict, notes = quick_verdict(capture), [*timeline.notes, *note_of(timeline)]
    if as_json:
        print_json(
            {
                **window_fields(timeline, timeline.missing, verdict, notes),
                "accounting": regime.regime if regime else None,
                "beyond_trace": beyond._asdict() if beyond else None,
                "service": _fields(service[1], service[0]) if service else None,
                "victims": [_fields(one, victim) for one in everyone],
                **beside_victims(timeline, victim),
            }
        )
        conclude(judged)
        return
    cost = cost_of(timeline)
    first = first_words(timeline, about, cost, beyond)
    say("\n".join(map(printable, [*first, *cost_words(timeline, cost, alone=not first)])))
    window = window_text(timeline.duration_ns, timeline.summary["cpus"], timeline.window.during)
    if victim is None:
        print(f"\nWhere each task's time on CPU went {window}\n")
        if everyone:
            table = _overview(timeline, service and service[1], everyone, rest)
            missing = show(table, by_importance(table, _MAIN), wide)
            left_out(missing, len(table.header), names=False)
            if service:
                say(
                    "The service is all its tasks as one, which are in the rows below by name too; "
                    f"--victim {printable(service[0])} shows it in full."
                )
        else:
            say(f"{NO_TASK} netcost ledger has what interrupts took from none.")
    else:
        [loss] = everyone
        name = label(loss.comm if isinstance(victim, str) else (victim, loss.comm))
        print(f"\nWhere the time of {printable(name)} on CPU went {window}\n")
        show(_detail(timeline, loss, regime))
        if not timeline.missing["on_cpu"]:
            _show_life(timeline, victim)
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
    conclude(judged)


def _judged(
    timeline: "Timeline", victim: Task | None, conditions: tuple[Condition, ...]
) -> list[Judged]:
    # Of the victim that was named, else of the one that questions are about.
    from ..questions.stolen import loss_of

    if not conditions:
        return []
    task = timeline.victim if victim is None else victim
    if task is None:
        return [one.of_row({one.name: None}) for one in conditions]
    row = loss_of(timeline, task).row
    return [one.of_row(row) for one in conditions]


def _beyond(timeline: "Timeline", victim: Task | None) -> "BeyondTrace | None":
    # Of what only a bundle has: to import it takes a bare recording 8 ms of 128.
    if timeline.capture.bundle is None:
        return None
    from ..questions.beyond_trace import beyond_trace

    return beyond_trace(timeline, victim)


def _fields(loss: "Loss", victim: Task | None) -> dict[str, Any]:
    from ..display.tables import plain

    by = by_of(victim)
    keys = victim_fields((victim, loss.comm) if by == "tid" else loss.comm, by)
    if isinstance(victim, Group):
        keys = {"group": str(victim), "comm": loss.comm}
    return {**keys, **{name: plain(value) for name, value in loss.row.items()}, **loss.parts}


def _show_life(timeline: "Timeline", victim: Task) -> None:
    from ..display.tables import Table, between
    from ..questions.lifetimes import lives_together, parts_of_life
    from ..questions.losses import share_of
    from ..questions.stolen import loss_of
    from ..timeline.lives import everywhere

    # Of a tid, those of all its names.
    found = lives_of(timeline, victim)
    lives = list(found.values())
    if not lives:
        return
    unrecorded_ns = loss_of(everywhere(timeline), victim).row["stolen_unrecorded_ns"]
    row = lives_together(lives, unrecorded_ns)
    there = between(row["lifetime_ns"], row["lifetime_max_ns"])
    if isinstance(victim, Group):
        row["tasks"] = len({tid for tid, _ in found})
    tasks = f" ({plural(row['tasks'], 'task')}, their sum)" if row["tasks"] > 1 else ""
    if len(lives) > 1 and not isinstance(victim, Group):
        tasks = f" (under {len(lives)} names, their sum)"
    # Of many tasks that come and go, what they were absent for says nothing.
    absent_for = f"; absent for {duration(row['absent_ns'])}" if row["tasks"] == 1 else ""
    every = "" if timeline.cpus is None else ", on all recorded CPUs"
    print(f"\nIts lifetime{tasks}{every}: {there}{absent_for}\n")
    rows = [[part, duration(ns), share(of)] for part, ns, of in parts_of_life(row)]
    waits = summed((one["holder_comm"], one["ns"]) for one in waits_of(timeline, victim) or [])
    rows += [
        [
            f"of its waits: for {holder}",
            duration(waits[holder]),
            share(share_of(waits[holder], row["lifetime_max_ns"])),
        ]
        for holder in by_total(waits)[:_HOLDERS]
    ]
    show(Table(["", "time", "of its lifetime"], rows))


def _overview(
    timeline: "Timeline",
    service: "Loss | None",
    victims: "list[Loss]",
    rest: dict[str, Any] | None,
) -> "Table":
    # rest: of the victims behind the first ones, as one.
    from ..display.tables import Table

    rows = [[f"{service.comm}, the service", *_cells(timeline, service.row)]] if service else []
    rows += [[one.comm, *_cells(timeline, one.row)] for one in victims[:_ROWS]]
    if rest:
        rows.append([plural(len(victims[_ROWS:]), "other"), *_cells(timeline, rest)])
    header = ["task", *_COLUMNS]
    # A column of blanks says nothing, nor does a monitor of whom nothing is known.
    kept = [i for i in range(len(header)) if i == 0 or any(row[i] for row in rows)]
    if all(one.row["monitor_ns"] is None for one in victims):
        kept = [i for i in kept if i != len(_COLUMNS)]
    return Table([header[i] for i in kept], [[row[i] for i in kept] for row in rows])


_COLUMNS = (
    *("on CPU", "itself", "stolen", "share", "of it network", "of it own"),
    *("own traffic", "scheduled", "displaced", "no known owner", "monitor says"),
)
# What a narrow terminal shows first.
_MAIN = ("task", "stolen", "share", "on CPU", "itself", "displaced", "of it network", "scheduled")


def _cells(timeline: "Timeline", row: dict[str, Any]) -> list[str]:
    from ..display.tables import between, share_between
    from ..questions.stolen import monitor_ends

    def figure(name: str) -> str:
        value = row[name]
        return duration(value) if absent(value) or value else ""

    return [
        figure("on_cpu_ns"),
        figure("task_ns")
        if absent(row["task_ns"])
        else between(row["task_min_ns"], row["task_ns"]),
        between(row["stolen_ns"], row["stolen_max_ns"]),
        share_between(row["stolen_share"], row["stolen_max_share"])
        if row["stolen_max_ns"] and not absent(row["stolen_share"])
        else "",
        between(row["stolen_network_ns"], row["stolen_network_max_ns"]),
        ""
        if absent(row["stolen_own_ns"])
        else between(row["stolen_own_ns"], row["stolen_own_max_ns"]),
        *map(figure, ("synchronous_ns", "scheduled_ns", "displaced_ns")),
        between(row["unknown_ns"], row["unknown_max_ns"]),
        between(*(monitor_ends(timeline, row) or ("", ""))),
    ]


def _detail(timeline: "Timeline", loss: "Loss", regime: "Accounting | None") -> "Table":
    from ..display.tables import Table, between, share_between
    from ..questions.losses import share_of, shares_of
    from ..questions.stolen import monitor_ends, own_ends

    row = loss.row
    shares = shares_of(row)

    def part(name: str, low: str, high: str | None = None) -> list[str]:
        high = high or low
        of = "" if absent(shares[high]) else share_between(shares[low], shares[high])
        return [name, between(row[f"{low}_ns"], row[f"{high}_ns"]) or "0", of]

    rows = []
    if not absent(row["on_cpu_ns"]):
        rows += [part("on CPU", "on_cpu"), part("ran itself", "task_min", "task")]
    rows.append(part("stolen", "stolen", "stolen_max"))
    rows.append(part("  network", "stolen_network", "stolen_network_max"))
    if not absent(row["stolen_own_ns"]):
        rows.append(part("  of its own traffic", "stolen_own", "stolen_own_max"))
    for context in ("hardirq", "vector", "nmi"):
        if row[f"stolen_{context}_ns"]:
            rows.append(part(f"  by {context}", f"stolen_{context}"))
    for kind, key in (("softirq", "action"), ("device", "device")):
        for one in loss.parts[f"by_{kind}"]:
            ends = one["stolen_ns"], one["stolen_max_ns"]
            of = share_between(*(share_of(ns, row["on_cpu_ns"]) for ns in ends))
            rows.append([f"  by {kind} {one[key]}", between(*ends), of])
    if row["stolen_unrecorded_ns"]:
        most = between(0, row["stolen_unrecorded_ns"])
        rows.append(part("  by interrupts not recorded, expected", "stolen_unrecorded_expected"))
        rows.append(["    and at most", most, share_between(0, shares["stolen_unrecorded"])])
    own, whole = own_ends(row), row["on_cpu_ns"]
    rows += [
        ["synchronous", between(*own) or "0", share_between(*(share_of(ns, whole) for ns in own))],
        part("scheduled (work of kernel threads, their own part too)", "scheduled"),
        part("no known owner", "unknown", "unknown_max"),
        ["displaced (waited, off CPU)", duration(row["displaced_ns"]), ""],
    ]
    shown = monitor_ends(timeline, row)
    says = f"a monitor says ({regime.regime if regime else 'accounting not recorded'})"
    of = share_between(*(share_of(end, whole) for end in shown)) if shown and whole else ""
    rows.append([says, between(*shown) or "0" if shown else "unknown", of])
    return Table(["", "time", "of its time on CPU"], rows)
