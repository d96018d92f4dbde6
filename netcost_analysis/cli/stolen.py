# netcost stolen: per victim, where its time on CPU went.

from typing import TYPE_CHECKING, Any

import click

from ..errors import AbsentError, no_task
from ..units import absent, duration, plural, printable, share
from .ledger import victim_fields, window_fields
from .main import capture_arguments, json_option, opened, print_json, window_options
from .stolen_json import beside_victims, waits_of
from .table import by_importance, left_out, say, show, wide_option

if TYPE_CHECKING:
    from ..capture.accounting import Accounting
    from ..display.tables import Table
    from ..timeline.timeline import Timeline

_ROWS = 12
_HOLDERS = 3
_THIEVES = tuple(f"stolen_{kind}_" for kind in ("hardirq", "vector", "nmi", "softirq", "device"))


@click.command("stolen", short_help="Show what each task lost.")
@capture_arguments
@click.option("--victim", metavar="COMM", help="Only this one, in full.")
@wide_option
@window_options
@json_option
def command(
    path: str,
    victim: str | None,
    wide: bool,
    start: float | None,
    end: float | None,
    cpus: tuple[int, ...],
    as_json: bool,
) -> None:
    """Show how much of each task's time on CPU was its own, and what a monitor would say."""
    from ..capture.accounting import accounting
    from ..display.tables import NO_TASK, window_text
    from ..questions.completeness.unrecorded import note_of
    from ..questions.completeness.words import quick_verdict
    from ..questions.losses import losses
    from ..questions.network import network_cost
    from ..questions.network_words import network_words

    capture = opened(path)
    timeline = capture.timeline(start_s=start, end_s=end, cpus=list(cpus) or None)
    lost = losses(timeline)
    if victim is not None and victim not in lost.victims:
        raise AbsentError(no_task(victim, lost.victims))
    rows = {one: row for one, row in lost.rows().items() if victim in (None, one)}
    regime = accounting(capture.bundle.kernel_config) if capture.bundle else None
    verdict, notes = quick_verdict(capture), [*timeline.notes, *note_of(timeline)]
    if as_json:
        print_json(
            {
                **window_fields(timeline, timeline.missing, verdict, notes),
                "accounting": regime.regime if regime else None,
                "victims": [
                    {**victim_fields(one, "comm"), **_plain(row)} for one, row in rows.items()
                ],
                **beside_victims(timeline, victim),
            }
        )
        return
    say("\n".join(map(printable, network_words(network_cost(timeline)))))
    window = window_text(timeline.duration_ns, timeline.summary["cpus"])
    if victim is None:
        print(f"Where each task's time on CPU went, in {window}\n")
        if rows:
            table = _overview(rows, timeline.nobodys_ns)
            missing = show(table, by_importance(table, _MAIN), wide)
            left_out(missing, len(table.header), names=False)
        else:
            say(f"{NO_TASK} netcost ledger has what interrupts took from none.")
    else:
        print(f"Where the time of {printable(victim)} on CPU went, in {window}\n")
        show(_detail(rows[victim], regime))
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


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    from ..display.tables import plain

    return {name: plain(value) for name, value in row.items()}


def _show_life(timeline: "Timeline", victim: str) -> None:
    from ..display.tables import Table, between
    from ..questions.lifetimes import lived, parts_of_life

    row = lived(timeline).rows().get(victim)
    if row is None:
        return
    there = between(row["lifetime_ns"], row["lifetime_max_ns"])
    tasks = f" ({plural(row['tasks'], 'task')}, their sum)" if row["tasks"] > 1 else ""
    # Of many tasks that come and go, what they were absent for says nothing.
    absent_for = f"; absent for {duration(row['absent_ns'])}" if row["tasks"] == 1 else ""
    every = "" if timeline.cpus is None else ", on all recorded CPUs"
    print(f"\nIts lifetime{tasks}{every}: {there}{absent_for}\n")
    rows = [[part, duration(ns), share(of)] for part, ns, of in parts_of_life(row)]
    waits = waits_of(timeline, victim) or []
    rows += [
        [
            f"of its waits: for {one['holder_comm']}",
            duration(one["ns"]),
            share(one["lifetime_share"]),
        ]
        for one in waits[:_HOLDERS]
    ]
    show(Table(["", "time", "of its lifetime"], rows))


def _overview(victims: dict[Any, dict[str, Any]], nobodys_ns: int) -> "Table":
    from ..display.tables import Table
    from ..questions.losses import together

    first, rest = list(victims.items())[:_ROWS], list(victims.values())[_ROWS:]
    rows = [[str(comm), *_cells(row)] for comm, row in first]
    if rest:
        rows.append([plural(len(rest), "other"), *_cells(together(rest, nobodys_ns))])
    header = ["task", *_COLUMNS]
    # A column of blanks says nothing, nor does a monitor of whom nothing is known.
    kept = [i for i in range(len(header)) if i == 0 or any(row[i] for row in rows)]
    if all(row["monitor_ns"] is None for row in victims.values()):
        kept = [i for i in kept if i != len(_COLUMNS)]
    return Table([header[i] for i in kept], [[row[i] for i in kept] for row in rows])


_COLUMNS = (
    *("on CPU", "itself", "stolen", "share", "of it network", "of it own"),
    *("own traffic", "scheduled", "displaced", "no known owner", "monitor says"),
)
# What a narrow terminal shows first.
_MAIN = ("task", "stolen", "share", "on CPU", "itself", "displaced", "of it network", "scheduled")


def _cells(row: dict[str, Any]) -> list[str]:
    from ..display.tables import between, share_between

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
        figure("monitor_ns"),
    ]


def _detail(row: dict[str, Any], regime: "Accounting | None") -> "Table":
    from ..display.tables import Table, between, share_between
    from ..questions.losses import shares_of

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
    for name in row:
        if name.startswith(_THIEVES) and row[name]:
            thief = name.removeprefix("stolen_").removesuffix("_ns").replace("_", " ", 1)
            rows.append(part(f"  by {thief}", name.removesuffix("_ns")))
    if row["stolen_unrecorded_ns"]:
        most = between(0, row["stolen_unrecorded_ns"])
        rows.append(
            ["  by interrupts not recorded", most, share_between(0, shares["stolen_unrecorded"])]
        )
    rows += [
        part("synchronous", "synchronous"),
        part("scheduled (work of kernel threads, their own part too)", "scheduled"),
        part("no known owner", "unknown", "unknown_max"),
        ["displaced (waited, off CPU)", duration(row["displaced_ns"]), ""],
        part(f"a monitor says ({regime.regime})", "monitor")
        if regime
        else ["a monitor says", "unknown", ""],
    ]
    return Table(["", "time", "of its time on CPU"], rows)
