# netcost stolen --json: what the text says beside the table of victims.

from typing import TYPE_CHECKING, Any

from ..timeline.task import Task, by_of, is_of

if TYPE_CHECKING:
    from ..timeline.by import By
    from ..timeline.timeline import Timeline


def beside_victims(timeline: "Timeline", victim: Task | None) -> dict[str, Any]:
    """The fields network_cost, lifetimes and waited_for, each as its question answers it.

    victim: only this one's rows. A question that the capture cannot answer is None.
    """
    from .ledger import victim_fields

    lives = None
    if not timeline.missing["on_cpu"]:
        rows = lives_of(timeline, victim).items()
        lives = [{**victim_fields(one, by_of(victim)), **row} for one, row in rows]
    waits = waits_of(timeline, victim)
    return {"network_cost": _network(timeline), "lifetimes": lives, "waited_for": waits}


def lives_of(timeline: "Timeline", victim: Task | None) -> dict[Any, dict[str, Any]]:
    """The rows of lifetimes(); for a tid one row for each of its names."""
    from ..questions.lifetimes import lived

    rows = lived(timeline, by_of(victim)).items()
    return {one: row for one, row in rows if is_of(one, victim)}


def waits_of(timeline: "Timeline", victim: Task | None) -> list[dict[str, Any]] | None:
    """The rows of waited_for() on all recorded CPUs; None where it cannot be answered."""
    from ..capture.requires import MissingEventsError
    from ..display.tables import plain
    from ..questions.waited_for import holders, waited_for
    from ..timeline.lives import everywhere

    try:
        waited_for.require(timeline)
    except MissingEventsError:
        return None
    by = by_of(victim)
    columns = holders(everywhere(timeline), by)
    values = zip(*columns.values(), strict=True)
    rows = (dict(zip(columns, map(plain, row), strict=True)) for row in values)
    return [row for row in rows if is_of(_key(row, by), victim)]


def _key(row: dict[str, Any], by: "By") -> Any:
    return (row["tid"], row["comm"]) if by == "tid" else row[by]


def _network(timeline: "Timeline") -> dict[str, Any]:
    from ..display.tables import plain
    from ..questions.network_cost import cost_of

    figures = cost_of(timeline)._asdict()
    cpus = [{"cpu": cpu, **cost._asdict()} for cpu, cost in figures.pop("by_cpu").items()]
    return {
        **{name: plain(value) for name, value in figures.items()},
        "not_recorded": list(figures["not_recorded"]),
        "of_cpus": [{name: plain(value) for name, value in row.items()} for row in cpus],
    }
