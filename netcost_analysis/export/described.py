"""The Parquet schema of a table: which recording it is of, what each column is, for any reader."""

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from .._native import __version__
from ..capture.checksum import checksum
from ..display.export import notes_for_pandas
from ..frames import is_list, to_frame
from ..schema import column, is_instant

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline

# Columns that the rows of a CPU are sorted by; where the first is null, the second counts.
SORTED = {
    "segments": ("start_ns",),
    "softirqs": ("entry_ns", "exit_ns"),
    "hardirqs": ("entry_ns", "exit_ns"),
    "polls": ("end_ns",),
    "slices": ("in_ns",),
    "migrations": ("time_ns",),
    "coverage": ("start_ns",),
}
_OF_CAPTURE = (
    *("format", "tool_version", "cmdline", "hostname", "kernel", "arch", "clock", "time_unit"),
    *("nr_cpus", "lost_events", "lost_unplaced", "lost_unknown"),
)
# Facts that take no further pass.
_FACTS = ("softirqs", "interrupts", "polls", "on_cpu")
_OF_CLASS = re.compile(r"softirq_(?P<vec>.+?)_(?P<of>from_idle|scheduled|s[a-z_]+)_ns")


@dataclass(frozen=True)
class Described:
    """A table's schema, with what its columns need to be written.

    schema: Arrow's, with the metadata. sorted_by: columns by which its rows are sorted. instants:
    columns of times. dictionaries: those whose values repeat.
    """

    schema: Any
    sorted_by: tuple[str, ...]
    instants: tuple[str, ...]
    dictionaries: list[str]


def plain(table: Any, names: dict[str, Any]) -> Any:
    """An Arrow table without dictionaries of numbers, which Parquet has no type for.

    names: by column, the dictionary of the tables before. It is reused where it is equal, because a
    reference to a batch's own dictionary keeps the whole batch in memory.
    """
    for place, field in enumerate(table.schema):
        kind, rows = field.type, table.column(place)
        if not pa.types.is_dictionary(kind):
            continue
        if not pa.types.is_string(kind.value_type):
            kind = kind.value_type
            rows = rows.cast(kind)
        else:
            rows = pa.chunked_array([_renamed(one, field.name, names) for one in rows.chunks], kind)
        table = table.set_column(place, field.with_type(kind), rows)
    return table


def _renamed(rows: Any, column: str, names: dict[str, Any]) -> Any:
    known = names.get(column)
    if known is None or not known.equals(rows.dictionary):
        known = names[column] = rows.dictionary.take(np.arange(len(rows.dictionary)))
    return pa.DictionaryArray.from_arrays(rows.indices, known)


def described(
    table: str, source: Any, said: dict[str, Any], sorted_by: tuple[str, ...], is_ledgers: bool
) -> Described:
    """The schema of a plain() table, of whose Arrow schema source is.

    is_ledgers: whether its columns are the ledger's, and so declared; those of events are not.
    """
    fields = [_described(table, field, is_ledgers) for field in source]
    metadata = {
        "netcost": json.dumps({**said, "table": table, "sorted_by": list(sorted_by)}),
        # With this, pandas reads nullable integers and categories.
        "pandas": _for_pandas(source),
    }
    instants = tuple(
        field.name
        for field in fields
        if pa.types.is_int64(field.type)
        and (
            field.name in sorted_by
            or (is_ledgers and (is_instant(f"{table}.{field.name}") or is_instant(field.name)))
        )
    )
    return Described(
        pa.schema(fields, metadata),
        sorted_by,
        instants,
        [field.name for field in fields if field.name not in instants and not is_list(field.type)],
    )


def _described(table: str, field: Any, is_ledgers: bool) -> Any:
    if not is_ledgers and field.name != "time_ns":
        return field.remove_metadata()
    if table == "slices" and (of := _OF_CLASS.fullmatch(field.name)):
        definition = (
            f"time of {of['vec']} softirqs of cost class `{of['of']}` within the slice, with their "
            "polls"
        )
        return field.with_metadata({"unit": "ns", "definition": definition})
    one = column(f"{table}.{field.name}") or column(field.name)
    if one is None:
        return field.remove_metadata()
    said = {"definition": one.definition}
    if one.unit is not None:
        said["unit"] = one.unit
    return field.with_metadata(said)


def _for_pandas(source: Any) -> str:
    schema = pa.Schema.from_pandas(to_frame(source.empty_table()), preserve_index=False)
    # The versions of pandas and pyarrow that wrote it must not change the bytes.
    creator = {"library": "pyarrow", "version": pa.__version__}
    return json.dumps({**notes_for_pandas(schema), "creator": creator})


def identity(timeline: "Timeline", ledger: bool) -> dict[str, Any]:
    """As JSON has it: recording, sha256, netcost, host, clock, window, CPUs, losses, notes.

    ledger: whether the timeline's own tables are wanted; else it is asked nothing that a recording
    without a ledger could not answer. Times are ns on the capture's clock.
    """
    capture = timeline.capture
    info = capture.info
    said = {
        "recording": capture.path,
        "buffer": capture.buffer,
        "sha256": checksum(capture),
        "netcost": __version__,
        **{name: info.get(name) for name in _OF_CAPTURE},
        "capture_start_ns": info["start_ns"],
        "capture_end_ns": info["end_ns"],
    }
    if not ledger:
        selection = timeline.selection if info["start_ns"] is not None else {}
        return {
            **said,
            "start_ns": selection.get("start_ns") or info["start_ns"],
            "end_ns": selection.get("end_ns") or info["end_ns"],
            "cpus": timeline.cpus or info["cpus"],
            "recorded": info["recorded"],
            "notes": info["notes"],
        }
    summary = timeline.summary
    return {
        **said,
        **{name: summary[name] for name in ("start_ns", "end_ns", "resolution_ns", "cpus")},
        "recorded": timeline.recorded,
        "owned": timeline.owned,
        "missing": {fact: why for fact in _FACTS if (why := timeline.missing[fact])},
        "notes": timeline.notes,
    }
