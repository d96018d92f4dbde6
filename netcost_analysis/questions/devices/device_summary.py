# Which device costs most, and the gravest of what looks wrong.

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...timeline.owners import NO_DEVICE
from ...units import absent
from .device_cost import device_cost, why_no_traffic
from .device_flags import QUEUES, device_flags, not_recorded
from .device_time import INPUTS
from .parts import ALL

if TYPE_CHECKING:
    from ...answers.answer import Answer
    from ...timeline.timeline import Timeline

# So many devices are named.
_NAMED = 4


class DeviceSummary(NamedTuple):
    """What devices cost, and what looks wrong about them.

    Parameters
    ----------
    costs : pandas.DataFrame
        As device_cost returns it.
    flags : pandas.DataFrame, optional
        As device_flags returns it; None where the bundle's files do not say.
    """

    costs: pd.DataFrame
    flags: pd.DataFrame | None


@question(
    needs=(("interrupts", "polls"),),
    inputs=(*INPUTS, ALL, QUEUES),
    columns=("device", "cpu_share", "ns", "packets", "ns_per_work"),
    rows=0,
)
def device_summary(timeline: "Timeline") -> DeviceSummary:
    """Which device costs most CPU time, and the gravest of what looks wrong about any.

    costs and flags.

    Source: device_cost, device_flags.
    """
    costs, flags = device_cost(timeline), None
    # What is damaged of a bundle device_flags says.
    with suppress(CaptureError):
        flags = device_flags(timeline)
    return DeviceSummary(costs, flags)


@device_summary.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    timeline = answer.timeline
    return {
        "not_recorded": [] if answer.result.flags is None else not_recorded(timeline),
        "traffic_unknown": why_no_traffic(timeline),
    }


@device_summary.figures
def _costliest(answer: "Answer") -> dict[str, Any]:
    # first: the row of the device with most time; others: the next; backlog: the row of the polls
    # without a device; worst_flag: the first warning about a device; each None where there is none.
    # unknown: why there is no traffic, None where there is.
    costs, flags, timeline = answer.result.costs, answer.result.flags, answer.timeline
    timed = costs[(costs["ns"] > 0).fillna(False)]
    devices = timed[timed["device"] != NO_DEVICE]
    backlog = timed[timed["device"] == NO_DEVICE].to_dict("records")
    rows = devices[:_NAMED].to_dict("records")
    first = rows[0] if rows else None
    warnings = None
    if flags is not None:
        warnings = flags.loc[(flags["severity"] == "warning") & flags["device"].notna(), "why"]
    return {
        "first": first and _first(first),
        "others": rows[1:],
        "backlog": backlog[0] if backlog else None,
        "backlog_took_more": bool(first and backlog and backlog[0]["ns"] > first["ns"]),
        "polls_recorded": not timeline.missing["polls"],
        "time_unknown": bool(costs["ns"].isna().any()),
        "polled": bool((costs["polls"] > 0).fillna(False).any()),
        "flags_known": flags is not None,
        "worst_flag": warnings.iloc[0] if warnings is not None and len(warnings) else None,
        "state_known": flags is not None and "state" not in answer.parts["not_recorded"],
        "unknown": answer.parts["traffic_unknown"],
    }


def _first(row: dict[Any, Any]) -> dict[Any, Any]:
    # With the price to the nearest ns.
    ns_per_work = row["ns_per_work"]
    return {
        **row,
        "ns_per_work": None if absent(ns_per_work) else round(float(ns_per_work)),
    }
