"""The tables of a fleet's dataset, as Arrow schemas: docs/scaling.md says what each column is."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

# Of the tables: one that is larger is not read.
FORMAT = 1
_TEXT, _COUNT, _SHARE = pa.string(), pa.int64(), pa.float64()
_TIME = pa.timestamp("us", tz="UTC")


def _schema(*columns: tuple[pa.DataType, str]) -> pa.Schema:
    # Names by type. The first say whose answers a row is part of, so that each table is of use
    # alone.
    every = ((_TEXT, "path hostname kernel"), (_TIME, "recorded_at"), *columns)
    return pa.schema([(name, kind) for kind, names in every for name in names.split()])


SCHEMAS: Mapping[str, pa.Schema] = {
    # A row per capture, whether it could be read or not.
    "captures": _schema(
        (_TEXT, "recorded_by sha256"),
        (_COUNT, "bytes"),
        (_TEXT, "modified netcost"),
        (_TIME, "answered_at"),
        (_COUNT, "took_ns"),
        (_TEXT, "error_kind error lacking arch format clock"),
        (_COUNT, "cpus duration_ns events lost_events"),
        (_TEXT, "state"),
        (_SHARE, "recorded_share owned_share"),
    ),
    # A row per capture that could be read.
    "answers": _schema(
        (_COUNT, "cpu_ns network_cpu_ns network_cpu_max_ns on_cpu_ns"),
        (_COUNT, "stolen_network_ns stolen_network_max_ns net_rx net_rx_ns"),
        (_COUNT, "with_polls squeezes_low squeezes_high"),
    ),
    # A row per capture and device.
    "devices": _schema(
        (_TEXT, "namespace device driver"),
        (_COUNT, "ns hardirq_ns poll_ns cut_poll_ns interrupts polls packets timed_packets"),
        (_COUNT, "busy_polls rx_packets tx_packets"),
    ),
    # A row per capture, histogram and bin; low and high are both within the bin.
    "histograms": _schema((_TEXT, "histogram of"), (_COUNT, "low high count ns")),
}
# The one that is written last: what it does not name is in no table.
CAPTURES = "captures"
Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def table_of(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as a table of that name; a column that a row has not is null."""
    return pa.Table.from_pylist(list(rows), schema=SCHEMAS[name])
