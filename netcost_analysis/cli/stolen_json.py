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
    from ..questions.stolen_time import lifetimes, waited_for
    from ..questions.stolen_time.stays import everywhere

    lived = waited = None
    if timeline.has_switches:
        lived = _rows(lifetimes(timeline).reset_index(), victim)
        with suppress(MissingEventsError):
            waited = _rows(waited_for(everywhere(timeline)), victim)
    return {"network_cost": _network(timeline), "lifetimes": lived, "waited_for": waited}


def _network(timeline: "Timeline") -> dict[str, Any]:
    from ..display.export import rows
    from ..display.tables import plain
    from ..questions.stolen_time.network import network_cost

    fields = dict(vars(network_cost(timeline)))
    of_cpus, lacking = fields.pop("of_cpus"), fields.pop("not_recorded")
    return {
        **{name: plain(value) for name, value in fields.items()},
        "not_recorded": list(lacking),
        "of_cpus": rows(of_cpus.reset_index()),
    }


def _rows(frame: "pd.DataFrame", victim: str | None) -> list[dict[str, Any]]:
    from ..display.export import rows

    return rows(frame if victim is None else frame[frame["comm"] == victim])
