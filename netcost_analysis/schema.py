"""The type, unit and definition of every column and figure of an answer, from columns.toml."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Column:
    """A column, or a figure of an answer.

    name: QUESTION.NAME for what only that answer has, like its tables; TABLE.NAME for a column of a
    timeline's table whose name means something else elsewhere. type: a pandas dtype, list[str] or
    list[int64] (Arrow), "table", or "figures" for several under one name. unit: ns, share (0 to 1),
    1/s, bytes, packets, id (a number that names something), address, ... or None. instant: whether
    ns are a time on the capture's clock rather than a duration. definition: Markdown.
    """

    name: str
    definition: str
    type: str
    unit: str | None = None
    instant: bool = False

    @property
    def dtype(self) -> "str | pd.ArrowDtype":
        """The dtype of this column in a frame."""
        if not self.type.startswith("list["):
            return self.type
        import pandas as pd
        import pyarrow as pa

        of = pa.int64() if self.type == "list[int64]" else pa.string()
        return pd.ArrowDtype(pa.list_(of))


@cache
def columns() -> dict[str, Column]:
    """All columns by name."""
    import tomllib

    text = Path(__file__).with_name("columns.toml").read_text(encoding="utf-8")
    return {name: Column(name, **parts) for name, parts in tomllib.loads(text).items()}


def column(name: str) -> Column | None:
    """The column of that name; None if it is not declared, as in a matrix."""
    return columns().get(name)


def unit_of(name: str) -> str | None:
    """The unit of a column; one that is not declared is judged by its suffix, _ns or _share."""
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
    """Cast every declared column of a frame, index levels too, to its declared type.

    Averaged times are rounded to the nanosecond. A matrix, whose columns are named after things, is
    returned as it is. Raises ValueError for a null in a column whose type has no null.
    """
    keys = [name for name in frame.index.names if name is not None]
    if frame.columns.name is not None:
        return frame
    if keys:
        return typed(frame.reset_index()).set_index(keys)
    made = {}
    for name, values in frame.items():
        declared = column(str(name))
        if declared is None or values.dtype == declared.dtype:
            continue
        if declared.type in ("int64", "bool") and values.isna().any():
            # pandas would turn a null in a bool column into False.
            raise ValueError(f"{name} is null, and declared as {declared.type}")
        whole = declared.type.lower() in ("int64", "uint64") and values.dtype.kind == "f"
        made[str(name)] = (values.round() if whole else values).astype(declared.dtype)  # type: ignore[arg-type]
    return frame.assign(**made)
