"""The Parquet schema of a table: which recording it is of, what each column is, for any reader."""

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..frames import is_list, to_frame
from ..schema import column, is_instant

# By what the rows of a CPU are sorted; the first of two where it is known, else the second.
SORTED = {
    "segments": ("start_ns",),
    "softirqs": ("entry_ns", "exit_ns"),
    "hardirqs": ("entry_ns", "exit_ns"),
    "polls": ("end_ns",),
    "slices": ("in_ns",),
    "migrations": ("time_ns",),
    "coverage": ("start_ns",),
}
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

    names: by column the dictionary of names that the tables before it had; it is used again where
    it is the same, for whoever holds a batch's own dictionary holds the whole batch in memory.
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
    table: str, source: Any, identity: dict[str, Any], sorted_by: tuple[str, ...], own: bool
) -> Described:
    """The schema of a plain() table, of whose Arrow schema source is.

    own: whether its columns are the ledger's, and so declared; a recorded event's fields are not.
    """
    fields = [_described(table, field, own) for field in source]
    metadata = {
        "netcost": json.dumps({**identity, "table": table, "sorted_by": list(sorted_by)}),
        # By which pandas reads nullable integers as such, and names as categories.
        "pandas": _for_pandas(source),
    }
    instants = tuple(
        field.name
        for field in fields
        if pa.types.is_int64(field.type)
        and (
            field.name in sorted_by
            or (own and (is_instant(f"{table}.{field.name}") or is_instant(field.name)))
        )
    )
    return Described(
        pa.schema(fields, metadata),
        sorted_by,
        instants,
        [field.name for field in fields if field.name not in instants and not is_list(field.type)],
    )


def _described(table: str, field: Any, own: bool) -> Any:
    if not own and field.name != "time_ns":
        return field.remove_metadata()
    if table == "slices" and (of := _OF_CLASS.fullmatch(field.name)):
        definition = (
            f"time of {of['vec']} softirqs of cost class `{of['of']}` within the stay, with their "
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
    # pandas would read lists by a name for their type that it does not understand itself.
    frame = to_frame(source.empty_table())
    notes = json.loads(pa.Schema.from_pandas(frame, preserve_index=False).metadata[b"pandas"])
    for one in notes["columns"]:
        if is_list(source.field(one["name"]).type):
            one["numpy_type"] = "object"
    # What wrote it changes nothing for who reads it, and the same capture is to be the same bytes.
    return json.dumps({**notes, "creator": {"library": "pyarrow", "version": pa.__version__}})
