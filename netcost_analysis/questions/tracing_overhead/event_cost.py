"""What an event costs: measured by this bundle, by its recorder, or elsewhere."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...parsers.preflight import parse_preflight_cost
from .calibration import PUBLISHED_NS, calibrated

if TYPE_CHECKING:
    from ...capture.capture import Capture

_COLUMNS = ("event_ns", "event_low_ns", "event_high_ns")


@question()
def event_cost(capture: "Capture") -> pd.DataFrame:
    """What one traced event costs, from each source there is, the best first.

    - capture: The recording, with its calibration and preflight where it is a bundle.

    A row per source: source, event_ns (Int64, NA where the source gives a range only),
    event_low_ns, event_high_ns (Int64), measured_events (Int64, how many it rests on, NA where not
    counted), cpu (Int64, the one on which it was measured, NA where it is of none), usable (False
    where a calibration cannot tell the cost from none, its runs had different loads, or it is none
    that an event can have), why (how it was got, or why it is of no use). tracing_cost() takes the
    first usable row.

    calibration: what the victim of the bundle's own calibration runs got done less while it was
    traced, as time, over the events on its CPU meanwhile. What the loads of the two runs differed
    by is in the interval; more than a fifth apart they are not compared. preflight: what netcost-
    record measured on this host before it recorded, or what it assumes of its tool; that is of hot
    caches, so the published cost with cold ones is the upper end. published: the averages with hot
    and with cold caches in the help of the kernel's TRACEPOINT_BENCHMARK, on older hardware.

    Source: the bundle's calibration runs and preflight; the kernel's help on TRACEPOINT_BENCHMARK.
    """
    rows = [*_calibration(capture), *_preflight(capture)]
    rows.append(
        _row("published", None, *PUBLISHED_NS, None, True, "TRACEPOINT_BENCHMARK, hot and cold")
    )
    frame = pd.DataFrame(rows)
    return frame.astype(dict.fromkeys((*_COLUMNS, "measured_events", "cpu"), "Int64"))


def chosen(costs: pd.DataFrame) -> "pd.Series[Any]":
    """The row of event_cost that is used."""
    return costs[costs["usable"]].iloc[0]


def _row(
    source: str,
    ns: float | None,
    low: float,
    high: float,
    events: int | None,
    usable: bool,
    why: str,
    cpu: int | None = None,
) -> dict[str, Any]:
    given = (None if value is None else round(value) for value in (ns, low, high))
    return {
        "source": source,
        **dict(zip(_COLUMNS, given, strict=True)),
        "measured_events": events,
        "cpu": cpu,
        "usable": usable,
        "why": why,
    }


def _calibration(capture: "Capture") -> list[dict[str, Any]]:
    try:
        found = calibrated(capture)
    except CaptureError as error:
        # A run that cannot be read says nothing; what there is besides may.
        return [_row("calibration", None, 0, 0, None, False, str(error))]
    return [_row(f"calibration, {one.pair}", *one[2:], one.cpu) for one in found]


def _preflight(capture: "Capture") -> list[dict[str, Any]]:
    text = capture.bundle.text("preflight.txt") if capture.bundle else None
    found = parse_preflight_cost(text or "")
    if found is None:
        return []
    ns, hot, cold = found.event_ns, *PUBLISHED_NS
    here = "measured here" in found.how
    source = "preflight" if here else "preflight, elsewhere"
    low = ns if here else min(ns, hot)
    return [_row(source, ns, low, max(ns, cold), None, True, found.how)]
