"""Every column and figure of an answer, once: columns.toml has type, unit and definition."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Column:
    """A column, or a figure of an answer.

    name; type: pandas' dtype of the column, None for what is no column. unit: what a value counts:
    ns, share (0 to 1), 1/s, bytes, packets, id (a number that names something), address, ... or
    None. instant: of ns, whether they are on the capture's clock and no duration. definition:
    Markdown.
    """

    name: str
    definition: str
    type: str | None = None
    unit: str | None = None
    instant: bool = False


@cache
def columns() -> dict[str, Column]:
    """All of them, by name."""
    text = Path(__file__).with_name("columns.toml").read_text(encoding="utf-8")
    return {name: Column(name, **parts) for name, parts in tomllib.loads(text).items()}


def column(name: str) -> Column | None:
    """The column of that name; None where none is declared, as of a matrix named for things."""
    return columns().get(name)


def unit_of(name: str) -> str | None:
    """What a column's values count; of one that is not declared by the ending of its name."""
    declared = column(name)
    if declared is not None:
        return declared.unit
    ending = name.rpartition("_")[2]
    return ending if ending in ("ns", "share") else None


def is_instant(name: str) -> bool:
    """Whether a column's values are times on the capture's clock."""
    declared = column(name)
    return declared is not None and declared.instant


def typed(frame: "pd.DataFrame") -> "pd.DataFrame":
    """A frame with each declared column, the index's too, in its type.

    Of times that were averaged, the nearest nanosecond. A matrix, whose columns are named for
    things, is left as it is.
    """
    keys = [name for name in frame.index.names if name is not None]
    if frame.columns.name is not None:
        return frame
    if keys:
        return typed(frame.reset_index()).set_index(keys)
    made = {}
    for name, values in frame.items():
        declared = column(str(name))
        kind = declared.type if declared else None
        # A null that nobody foresaw is kept.
        if kind == "int64" and values.isna().any():
            kind = "Int64"
        if kind and str(values.dtype) != kind:
            whole = kind.lower() == "int64" and values.dtype.kind == "f"
            made[str(name)] = (values.round() if whole else values).astype(kind)  # type: ignore[call-overload]
    return frame.assign(**made)
