# The tables of netcost stolen: who lost how much, where one task's time went, and its lifetime.

from typing import TYPE_CHECKING, Any

from ..display.tables import Table, between, share_between
from ..timeline.owners import by_total, summed
from ..timeline.task import Group, Task, by_of, is_of, tids_of
from ..units import absent, duration, plural, share
from .table import show

if TYPE_CHECKING:
    from ..capture.accounting import Accounting
    from ..questions.stolen import StolenFrom
    from ..timeline.timeline import Timeline

ROWS = 12
_HOLDERS = 3
_COLUMNS = (
    *("on CPU", "itself", "stolen", "share", "by network", "by its own"),
    *("own traffic", "scheduled", "displaced", "no known owner", "monitor says"),
)
# A narrow terminal shows these first.
MAIN = (
    *("task", "stolen", "share", "on CPU", "monitor says", "itself", "by network"),
    *("displaced", "scheduled"),
)


def overview(
    timeline: "Timeline",
    service: "StolenFrom | None",
    victims: "list[StolenFrom]",
    rest: dict[str, Any] | None,
) -> Table:
    # rest: the sum of all victims after the first ROWS.
    from ..questions.victim import of_recorder

    rows = [[f"{service.comm}, the service", *_cells(timeline, service.row)]] if service else []
    ours = of_recorder(timeline)
    for loss in victims[:ROWS]:
        number = len(tids_of(timeline, loss.comm))
        name = f"{loss.comm} ({number} tasks)" if number > 1 else loss.comm
        name += ", recorder" if loss.comm in ours else ""
        rows.append([name, *_cells(timeline, loss.row)])
    if rest:
        rows.append([plural(len(victims[ROWS:]), "other"), *_cells(timeline, rest)])
    header = ["task", *_COLUMNS]
    # Leave out empty columns, and the monitor's if it is unknown.
    kept = [i for i in range(len(header)) if i == 0 or any(row[i] for row in rows)]
    if all(loss.row["monitor_ns"] is None for loss in victims):
        kept = [i for i in kept if i != len(_COLUMNS)]
    return Table([header[i] for i in kept], [[row[i] for i in kept] for row in rows])


def _cells(timeline: "Timeline", row: dict[str, Any]) -> list[str]:
    from ..questions.stolen import itself_ends, monitor_ends

    def figure(low: str, high: str | None = None) -> str:
        ends = row[low], row[high or low]
        return duration(ends[1]) if high is None and ends[1] is None else between(*ends)

    return [
        figure("on_cpu_ns"),
        between(*itself) if (itself := itself_ends(row)) else "unknown",
        figure("stolen_ns", "stolen_max_ns"),
        ""
        if absent(row["stolen_share"])
        else share_between(row["stolen_share"], row["stolen_max_share"]),
        figure("stolen_network_ns", "stolen_network_max_ns"),
        figure("stolen_own_ns", "stolen_own_max_ns"),
        *map(figure, ("synchronous_ns", "scheduled_ns", "displaced_ns")),
        figure("unknown_ns", "unknown_max_ns"),
        between(*(monitor_ends(timeline, row) or ("", ""))),
    ]


def detail(timeline: "Timeline", loss: "StolenFrom", regime: "Accounting | None") -> Table:
    from ..questions.stolen import itself_ends, monitor_ends, own_ends
    from ..questions.stolen_sums import share_of, shares_of

    row = loss.row
    shares = shares_of(row)

    def part(name: str, low: str, high: str | None = None) -> list[str]:
        high = high or low
        of = "" if absent(shares[high]) else share_between(shares[low], shares[high])
        return [name, between(row[f"{low}_ns"], row[f"{high}_ns"]) or "0", of]

    rows = []
    if itself := itself_ends(row):
        of = share_between(*(share_of(ns, row["on_cpu_ns"]) for ns in itself))
        rows += [part("on CPU", "on_cpu"), ["ran itself", between(*itself) or "0", of]]
    rows.append(part("stolen", "stolen", "stolen_max"))
    rows.append(part("  network", "stolen_network", "stolen_network_max"))
    if not absent(row["stolen_own_ns"]):
        rows.append(part("  for its own traffic", "stolen_own", "stolen_own_max"))
    for context in ("hardirq", "vector", "nmi"):
        if row[f"stolen_{context}_ns"]:
            rows.append(part(f"  by {context}", f"stolen_{context}"))
    for kind, key in (("softirq", "action"), ("device", "device")):
        for thief in loss.parts[f"by_{kind}"]:
            ends = thief["stolen_ns"], thief["stolen_max_ns"]
            of = share_between(*(share_of(ns, row["on_cpu_ns"]) for ns in ends))
            rows.append([f"  by {kind} {thief[key]}", between(*ends), of])
    if row["stolen_unrecorded_ns"]:
        most = between(0, row["stolen_unrecorded_ns"])
        rows.append(part("  by interrupts not recorded, expected", "stolen_unrecorded_expected"))
        rows.append(["    and at most", most, share_between(0, shares["stolen_unrecorded"])])
    own, total = own_ends(row), row["on_cpu_ns"]
    rows += [
        ["synchronous", between(*own) or "0", share_between(*(share_of(ns, total) for ns in own))],
        part("scheduled (all time of threads that do interrupt work)", "scheduled"),
        part("no known owner", "unknown", "unknown_max"),
        ["displaced (waited, off CPU)", duration(row["displaced_ns"]), ""],
    ]
    shown = monitor_ends(timeline, row)
    says = f"a monitor says ({regime.regime if regime else 'accounting not recorded'})"
    of = share_between(*(share_of(end, total) for end in shown)) if shown and total else ""
    rows.append([says, between(*shown) or "0" if shown else "unknown", of])
    return Table(["", "time", "of its time on CPU"], rows)


def show_life(timeline: "Timeline", victim: Task) -> None:
    from ..questions.lifetimes import lives_together, parts_of_life
    from ..questions.stolen import stolen_from
    from ..questions.stolen_sums import share_of
    from ..timeline.lives import everywhere

    # A tid has a row for each of its names.
    life_rows = lives_of(timeline, victim)
    lives = list(life_rows.values())
    if not lives:
        return
    unrecorded_ns = stolen_from(everywhere(timeline), victim).row["stolen_unrecorded_ns"]
    row = lives_together(lives, unrecorded_ns)
    there = between(row["lifetime_ns"], row["lifetime_max_ns"])
    if isinstance(victim, Group):
        row["tasks"] = len({tid for tid, _ in life_rows})
    tasks = f" ({plural(row['tasks'], 'task')}, their sum)" if row["tasks"] > 1 else ""
    if len(lives) > 1 and not isinstance(victim, Group):
        tasks = f" (under {len(lives)} names, their sum)"
    # The time absent means nothing for the sum of several tasks.
    absent_for = f"; absent for {duration(row['absent_ns'])}" if row["tasks"] == 1 else ""
    every = "" if timeline.cpus is None else ", on all recorded CPUs"
    print(f"\nIts lifetime{tasks}{every}: {there}{absent_for}\n")
    rows = [[part, duration(ns), share(of)] for part, ns, of in parts_of_life(row)]
    waits = summed((wait["holder_comm"], wait["ns"]) for wait in waits_of(timeline, victim) or [])
    rows += [
        [
            f"of its waits: for {holder}",
            duration(waits[holder]),
            share(share_of(waits[holder], row["lifetime_max_ns"])),
        ]
        for holder in by_total(waits)[:_HOLDERS]
    ]
    show(Table(["", "time", "of its lifetime"], rows))


def lives_of(timeline: "Timeline", victim: Task | None) -> dict[Any, dict[str, Any]]:
    """The rows of lifetimes(). A tid has one for each of its names."""
    from ..questions.lifetimes import lived

    rows = lived(timeline, by_of(victim)).items()
    return {key: row for key, row in rows if is_of(key, victim)}


def waits_of(timeline: "Timeline", victim: Task | None) -> list[dict[str, Any]] | None:
    """The rows of waited_for() on all recorded CPUs; None if events are missing."""
    from ..capture.requires import MissingEventsError
    from ..questions.lifetimes import holders, waited_for
    from ..timeline.lives import everywhere

    try:
        waited_for.require(timeline)
    except MissingEventsError:
        return None
    by = by_of(victim)
    columns = holders(everywhere(timeline), by)
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return [
        row
        for row in rows
        if is_of((row["tid"], row["comm"]) if by == "tid" else row["comm"], victim)
    ]
