# netcost stolen --json: what the text says beside the table of victims.

from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from ..timeline.timeline import Timeline


def beside_victims(timeline: "Timeline", victim: str | None) -> dict[str, Any]:
    """The fields network_cost, lifetimes and waited_for, each as its question answers it.

    victim: only this one's rows. A question that the capture cannot answer is None.
    """
    from ..capture.requires import MissingEventsError
    from ..questions.stolen_time.holders import waited_for
    from ..questions.stolen_time.lifetimes import lifetimes
    from ..questions.stolen_time.stays import everywhere

    lived = waited = None
    if not timeline.missing["on_cpu"]:
        lived = _rows(lifetimes(timeline).reset_index(), victim)
        with suppress(MissingEventsError):
            waited = _rows(waited_for(everywhere(timeline)), victim)
    return {"network_cost": _network(timeline), "lifetimes": lived, "waited_for": waited}


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


def _rows(frame: "pd.DataFrame", victim: str | None) -> list[dict[str, Any]]:
    from ..display.export import rows

    return rows(frame if victim is None else frame[frame["comm"] == victim])
