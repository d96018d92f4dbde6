# Any frame of figures as a table for a reader; units follow from the names of columns.

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ..schema import is_instant, unit_of
from ..units import absent, duration, figure, share, since
from .tables import Table

if TYPE_CHECKING:
    import pandas as pd


def figures(
    frame: "pd.DataFrame",
    start_ns: int | None = None,
    rows: int | None = None,
    names: Mapping[str, str] | None = None,
    shares: Collection[str] = (),
) -> Table:
    # start_ns: times count from here; None leaves them as numbers. rows: at most so many. names:
    # headings instead of a column's name. shares: columns that are shares, but not called so.
    named = any(name is not None for name in frame.index.names)
    shown = (frame if rows is None else frame[:rows]).reset_index(drop=not named)
    keys = frame.index.nlevels if named else 0
    # The columns of a matrix are named after thieves.
    is_matrix = frame.columns.name == "thief"
    cells, heads, left = [], [], {0}
    for i, name in enumerate(map(str, shown.columns)):
        values = shown.iloc[:, i]
        thing = is_matrix and i >= keys
        kind = f"{name}_ns" if thing else f"{name}_share" if name in shares else name
        cells.append(_column(kind, values, start_ns))
        if name in shares and "measure" in shown:
            # Instructions per cycle are no share, but in the same column as shares.
            ratios = shown["measure"] == "ipc"
            cells[-1] = [
                _plain(value) if ratio else cell
                for value, ratio, cell in zip(values, ratios, cells[-1], strict=True)
            ]
        # A number is prefixed with what the matrix calls it, as "CPU 3".
        called = f"{frame.columns.name} {name}" if name.isdigit() else name
        heads.append((names or {}).get(name) or (called if thing else heading(name, start_ns)))
        if _is_text(values):
            left.add(i)
    return Table(heads, list(zip(*cells, strict=True)), left=left)


def heading(name: str, start_ns: int | None = None) -> str:
    # "stolen_share" -> "stolen share": units are in the cells.
    if is_instant(name) and start_ns is not None:
        return f"{name.removesuffix('_ns').replace('_', ' ')}, s"
    if name == "ns":
        return "time"
    return name.removesuffix("_ns").replace("_per_s", "/s").replace("_", " ")


def _column(name: str, values: "pd.Series[Any]", start_ns: int | None) -> list[str]:
    if is_instant(name):
        return [_moment(value, start_ns) for value in values]
    match unit_of(name):
        case "ns":
            return ["" if absent(value) else _ns(value) for value in values]
        case "share":
            return [share(value) for value in values]
        case "address":
            return ["" if absent(value) else f"{int(value):#x}" for value in values]
        case "id":
            return ["" if absent(value) else str(value) for value in values]
    return [_plain(value) for value in values]


def _ns(value: Any) -> str:
    # Averages and estimates have fractions of a nanosecond.
    return f"{value:.1f} ns" if 0 < abs(value) < 10 and value != int(value) else duration(value)


def _moment(value: Any, start_ns: int | None) -> str:
    if absent(value):
        return ""
    return f"{int(value)}" if start_ns is None else since(value, start_ns)


def _plain(value: Any) -> str:
    if absent(value):
        return ""
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return "yes" if value else "no"
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return figure(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _is_text(values: "pd.Series[Any]") -> bool:
    return values.dtype.kind not in "iuf"
