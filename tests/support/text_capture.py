# Texts as captures: lines into a file, and what is read of it.

from pathlib import Path
from typing import Any

from netcost_analysis._native import Capture
from support.native_tables import Row, rows


def capture(folder: Path, text: str | bytes, name: str = "trace.txt") -> Capture:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return Capture(str(path))


# All events of a text by name; each event's rows in the order of their lines.
def tables(folder: Path, text: str | bytes) -> dict[str, list[Row]]:
    found = capture(folder, text).all_events()
    return {name: rows(table) for name, table in found.items()}


def counts(scan: dict[str, Any]) -> dict[str, int]:
    return {name.split(":")[-1]: count for name, count in scan["events"].items()}
