# Any frame of figures as a table for a reader: units from the columns' names, as all frames have.

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .tables import Table
from .units import absent, duration, share, since

if TYPE_CHECKING:
    import pandas as pd

# Moments, in a table that says from where they count.
_MOMENTS = {
    f"{what}_ns"
    for what in (
        "time",
        "start",
        "end",
        "begin",
        "at",
        "raise",
        "entry",
        "exit",
        "in",
        "out",
        "wake",
    )
}
_MOMENT_ENDS = ("_start_ns", "_end_ns", "_time_ns", "_entry_ns", "_exit_ns")


def figures(
    frame: "pd.DataFrame",
    start_ns: int | None = None,
    rows: int | None = None,
    names: Mapping[str, str] | None = None,
) -> Table:
    # start_ns: what moments count from; they are left as numbers where it is None. rows: at most
    # so many. names: headings, where the column's own will not do.
    named = any(name is not None for name in frame.index.names)
    shown = (frame if rows is None else frame[:rows]).reset_index(drop=not named)
    if frame.columns.name == "thief":
        # A matrix of times, a column for each thief.
        shown = shown.rename(columns={name: f"{name}_ns" for name in frame.columns})
    cells = {str(name): _column(str(name), shown.iloc[:, i], start_ns)
             for i, name in enumerate(shown.columns)}  # fmt: skip
    heads = [(names or {}).get(name) or heading(name, start_ns) for name in cells]
    left = {i for i, name in enumerate(cells) if _is_text(shown.iloc[:, i])}
    return Table(heads, list(zip(*cells.values(), strict=True)), left=left | {0})


def heading(name: str, start_ns: int | None = None) -> str:
    # "stolen_share" -> "stolen share": units stand in the cells.
    if is_moment(name) and start_ns is not None:
        return f"{name.removesuffix('_ns').replace('_', ' ')}, s"
    return name.removesuffix("_ns").replace("_per_s", "/s").replace("_", " ")


def is_moment(name: str) -> bool:
    return name in _MOMENTS or name.endswith(_MOMENT_ENDS)


def _column(name: str, values: "pd.Series[Any]", start_ns: int | None) -> list[str]:
    if is_moment(name):
        return [_moment(value, start_ns) for value in values]
    if name.endswith("_ns") or name == "ns":
        return ["" if absent(value) else _ns(value) for value in values]
    if name == "napi":
        return ["" if absent(value) else f"{int(value):#x}" for value in values]
    if name.endswith("_share") or name == "share":
        return [share(value) for value in values]
    if name == "tid" or name.endswith("_tid"):
        return ["" if absent(value) else str(int(value)) for value in values]
    return [_plain(value) for value in values]


def _ns(value: Any) -> str:
    # What is regressed or averaged has fractions of a nanosecond.
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
        return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else str(value)


def _is_text(values: "pd.Series[Any]") -> bool:
    return values.dtype.kind not in "iuf"
