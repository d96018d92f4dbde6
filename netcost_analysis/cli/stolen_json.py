# netcost stolen --json: what the text says beside the table of victims.

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline


def beside_victims(timeline: "Timeline", victim: str | None) -> dict[str, Any]:
    """The fields network_cost, lifetimes and waited_for, each as its question answers it.

    victim: only this one's rows. A question that the capture cannot answer is None.
    """
    from ..questions.lifetimes import lived
    from .ledger import victim_fields

    lives = None
    if not timeline.missing["on_cpu"]:
        rows = lived(timeline).rows().items()
        lives = [
            {**victim_fields(one, "comm"), **row} for one, row in rows if victim in (None, one)
        ]
    waits = waits_of(timeline, victim)
    return {"network_cost": _network(timeline), "lifetimes": lives, "waited_for": waits}


def waits_of(timeline: "Timeline", victim: str | None) -> list[dict[str, Any]] | None:
    """The rows of waited_for() on all recorded CPUs; None where it cannot be answered."""
    from ..capture.requires import MissingEventsError
    from ..display.tables import plain
    from ..questions.lives import everywhere
    from ..questions.waited_for import holders, waited_for

    try:
        waited_for.require(timeline)
    except MissingEventsError:
        return None
    columns = holders(everywhere(timeline))
    rows = zip(*columns.values(), strict=True)
    named = (dict(zip(columns, map(plain, row), strict=True)) for row in rows)
    return [row for row in named if victim in (None, row["comm"])]


def _network(timeline: "Timeline") -> dict[str, Any]:
    from ..display.tables import plain
    from ..questions.network import network_cost

    cost = network_cost(timeline)
    cpus = [{"cpu": cpu, **vars(one)} for cpu, one in cost.by_cpu.items()]
    return {
        **{name: plain(getattr(cost, name)) for name in cost.part_names[:-2]},
        "not_recorded": list(cost.not_recorded),
        "of_cpus": [{name: plain(value) for name, value in row.items()} for row in cpus],
    }
