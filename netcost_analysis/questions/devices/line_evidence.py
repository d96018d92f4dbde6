# Which interrupt line raised which NET_RX softirqs, and what these polled, as native counts it.

from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from ...frames import to_frame
from ...timeline.aggregates import Aggregate, Plain
from ...timeline.reading import once

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline

_LINE = ["irq", "name"]
RAISED = Aggregate(lambda timeline: Plain("raised"))


class Evidence(NamedTuple):
    # raisers, by irq, name and device (None without any): raised and polled softirqs. A softirq is
    # the line's whose handler ran on that CPU when it was raised. raised is that of the line, in
    # each of its rows. devices: all that were polled.
    raisers: pd.DataFrame
    devices: set[str]


@once
def raised_by(timeline: "Timeline") -> Evidence:
    found = {name: to_frame(table) for name, table in RAISED(timeline).items()}
    for rows in found.values():
        named = rows.select_dtypes("category").columns
        rows[named] = rows[named].astype(object)
    raisers = found["raised"].merge(found["polled"], on=_LINE, how="left")
    return Evidence(raisers, set(found["devices"]["device"]))
