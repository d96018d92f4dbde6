"""What an event costs: measured by this bundle, by its recorder, or elsewhere."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...parsers.recorder_texts import parse_preflight_cost
from .calibration import PUBLISHED_NS, Cost, calibrated

if TYPE_CHECKING:
    from ...capture.capture import Capture


@question()
def event_cost(capture: "Capture") -> Answer:
    """What one traced event costs, from each available source, the best first.

    A row per source; tracing_cost takes the first that is usable.

    - "calibration": The work that the victim of the bundle's own calibration runs did less while it
      was traced, as time, over the events on its CPU meanwhile. The difference between the two
      runs' loads is in the interval; loads more than a fifth apart are not compared.
    - "preflight": What netcost-record measured on this host before it recorded, or what it assumes
      for its tool. That is with hot caches, so the published cost with cold ones is the upper end.
    - "published": The averages in the help of the kernel's TRACEPOINT_BENCHMARK, on older hardware.

    Source: the bundle's calibration runs and preflight; that help.
    """
    rows = [*_calibration(capture), *_preflight(capture)]
    how = "TRACEPOINT_BENCHMARK, hot and cold"
    rows.append(Cost("published", None, *PUBLISHED_NS, None, None, True, how))
    return Answer(pd.DataFrame(rows))


def chosen(costs: pd.DataFrame) -> "pd.Series[Any]":
    """The row of event_cost that is used."""
    return costs[costs["usable"]].iloc[0]


def _calibration(capture: "Capture") -> list[Cost]:
    try:
        return calibrated(capture)
    except CaptureError as error:
        # A run that cannot be read leaves the other sources.
        return [Cost("calibration", None, 0, 0, None, None, False, str(error))]


def _preflight(capture: "Capture") -> list[Cost]:
    text = capture.bundle.text("preflight.txt") if capture.bundle else None
    found = parse_preflight_cost(text or "")
    if found is None:
        return []
    ns, hot, cold = found.event_ns, *PUBLISHED_NS
    here = "measured here" in found.how
    source = "preflight" if here else "preflight, elsewhere"
    low = ns if here else min(ns, hot)
    return [Cost(source, ns, low, max(ns, cold), None, None, True, found.how)]
