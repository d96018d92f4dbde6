# Which device costs most, and the gravest of what looks wrong.

from contextlib import suppress
from typing import TYPE_CHECKING

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from .device_cost import device_cost
from .device_flags import INPUTS, device_flags

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline


@question(
    needs=(("interrupts", "polls"),),
    inputs=INPUTS,
    columns=("device", "cpu_share", "ns", "packets", "ns_per_work"),
    rows=0,
)
def device_summary(timeline: "Timeline") -> Answer:
    """Which device costs most CPU time, and the gravest of what looks wrong about any.

    `costs`: the rows of device_cost; `flags`: those of device_flags, None where the bundle's files
    are damaged. Source: device_cost, device_flags.
    """
    costs, flags = device_cost(timeline), None
    # device_flags says what is damaged.
    with suppress(CaptureError):
        flags = device_flags(timeline)
    return Answer(
        costs=costs.frame,
        flags=None if flags is None else flags.frame,
        not_recorded=[] if flags is None else flags["not_recorded"],
        traffic_unknown=costs["traffic_unknown"],
        polls_recorded=not timeline.missing["polls"],
    )
