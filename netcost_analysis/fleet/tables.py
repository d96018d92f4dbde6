"""The tables of a fleet's dataset, as Arrow schemas: docs/scaling.md says what each column is."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

# Of the tables: one that is larger is not read.
FORMAT = 1
# Of a capture whose answers a row is part of: each table has them, so that each is of use alone.
_IDENTITY = (
    ("path", pa.string()),
    ("hostname", pa.string()),
    ("kernel", pa.string()),
    ("recorded_at", pa.timestamp("us", tz="UTC")),
)

SCHEMAS: Mapping[str, pa.Schema] = {
    # A row per capture, whether it could be read or not.
    "captures": pa.schema(
        [
            *_IDENTITY,
            ("recorded_by", pa.string()),
            ("sha256", pa.string()),
            ("bytes", pa.int64()),
            ("modified", pa.string()),
            ("netcost", pa.string()),
            ("answered_at", pa.timestamp("us", tz="UTC")),
            ("took_ns", pa.int64()),
            ("error_kind", pa.string()),
            ("error", pa.string()),
            ("lacking", pa.string()),
            ("arch", pa.string()),
            ("format", pa.string()),
            ("clock", pa.string()),
            ("cpus", pa.int64()),
            ("duration_ns", pa.int64()),
            ("events", pa.int64()),
            ("lost_events", pa.int64()),
            ("state", pa.string()),
            ("recorded_share", pa.float64()),
            ("owned_share", pa.float64()),
        ]
    ),
    # A row per capture that could be read.
    "answers": pa.schema(
        [
            *_IDENTITY,
            ("cpu_ns", pa.int64()),
            ("network_cpu_ns", pa.int64()),
            ("network_cpu_max_ns", pa.int64()),
            ("on_cpu_ns", pa.int64()),
            ("stolen_network_ns", pa.int64()),
            ("stolen_network_max_ns", pa.int64()),
            ("net_rx", pa.int64()),
            ("net_rx_ns", pa.int64()),
            ("with_polls", pa.int64()),
            ("squeezes_low", pa.int64()),
            ("squeezes_high", pa.int64()),
        ]
    ),
    # A row per capture and device.
    "devices": pa.schema(
        [
            *_IDENTITY,
            ("namespace", pa.string()),
            ("device", pa.string()),
            ("driver", pa.string()),
            ("ns", pa.int64()),
            ("hardirq_ns", pa.int64()),
            ("poll_ns", pa.int64()),
            ("cut_poll_ns", pa.int64()),
            ("interrupts", pa.int64()),
            ("polls", pa.int64()),
            ("packets", pa.int64()),
            ("timed_packets", pa.int64()),
            ("busy_polls", pa.int64()),
            ("rx_packets", pa.int64()),
            ("tx_packets", pa.int64()),
        ]
    ),
    # A row per capture, histogram and bin; low and high are both within the bin.
    "histograms": pa.schema(
        [
            *_IDENTITY,
            ("histogram", pa.string()),
            ("of", pa.string()),
            ("low", pa.int64()),
            ("high", pa.int64()),
            ("count", pa.int64()),
            ("ns", pa.int64()),
        ]
    ),
}
# The one that is written last: what it does not name is in no table.
CAPTURES = "captures"
Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def table_of(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as a table of that name; a column that a row has not is null."""
    return pa.Table.from_pylist(list(rows), schema=SCHEMAS[name])
