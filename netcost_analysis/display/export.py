# Writes frames as plain rows, CSV and Parquet, and JSON with its schema.

import json
from collections.abc import Iterator
from math import isinf
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ..files import replacing
from ..frames import is_list

_CHUNK = 10_000


def chunks(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    # A capture may have millions of rows, so only one chunk at a time becomes Python objects. An
    # empty table has one chunk, for its header.
    for at in range(0, max(len(frame), 1), _CHUNK):
        yield frame[at : at + _CHUNK]


def rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    # Values are plain Python. JSON has no NA, NaN or infinity: they become None.
    names = [str(name) for name in frame.columns]
    return [
        dict(zip(names, map(_plain, row), strict=True))
        for row in frame.itertuples(index=False, name=None)
    ]


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and isinf(value):
        return None
    return None if not isinstance(value, list) and pd.isna(value) else value


def checked_json(value: Any, kind: type[msgspec.Struct]) -> bytes:
    made = msgspec.convert(value, kind)
    return msgspec.json.format(msgspec.json.encode(made), indent=2)


def json_schema(kind: type[msgspec.Struct]) -> bytes:
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return msgspec.json.format(msgspec.json.encode(made | msgspec.json.schema(kind))) + b"\n"


def write(frame: pd.DataFrame, output: str) -> None:
    # All or nothing, in the format of the file's suffix.
    with replacing(output) as draft:
        (write_csv if draft.suffix == ".csv" else write_parquet)(frame, draft)


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    # Write lists as JSON: pandas would abbreviate them with an ellipsis.
    kinds = {name: getattr(frame[name].dtype, "pyarrow_dtype", pa.null()) for name in frame.columns}
    lists = [name for name, kind in kinds.items() if is_list(kind)]
    with path.open("w", newline="") as out:
        for number, chunk in enumerate(chunks(frame)):
            text = {
                name: [None if row is None else json.dumps(row) for row in map(_plain, chunk[name])]
                for name in lists
            }
            made = chunk.assign(
                **{name: pd.Series(cells, chunk.index) for name, cells in text.items()}
            )
            made.to_csv(out, index=False, header=number == 0)


def write_parquet(frame: pd.DataFrame, path: Path) -> None:
    # Like frame.to_parquet, except for the metadata of lists.
    table = pa.Table.from_pandas(frame, preserve_index=False)
    notes = json.dumps(notes_for_pandas(table.schema))
    pq.write_table(table.replace_schema_metadata({b"pandas": notes}), path)


def notes_for_pandas(schema: pa.Schema) -> dict[str, Any]:
    # pandas' metadata for a schema. Its name for list types is replaced, because its own
    # read_parquet cannot parse it.
    notes: dict[str, Any] = json.loads(schema.metadata[b"pandas"])
    for column in notes["columns"]:
        if is_list(schema.field(column["name"]).type):
            column["numpy_type"] = "object"
    return notes
