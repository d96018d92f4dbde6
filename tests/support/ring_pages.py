# What the pages of a kernel's ring buffer hold, counted as their layout says (linux/ring_buffer.h)
# and apart from netcost's own reader: an oracle for what the recorder copies.

import re
import struct
from dataclasses import dataclass, field
from pathlib import Path

PADDING, TIME_EXTEND, TIME_STAMP = 29, 30, 31
COMMITTED = (1 << 20) - 1
MISSED_EVENTS = 1 << 31


@dataclass
class Pages:
    starts: list[int] = field(default_factory=list)
    events: int = 0
    # Pages before which the kernel overwrote some.
    gaps: int = 0


def page_size(header_page: str) -> tuple[int, int]:
    """(where a page's data begins, how long a page is) as events/header_page says."""
    found = re.search(r"char data;\s*offset:(\d+);\s*size:(\d+);", header_page)
    assert found
    offset, size = int(found[1]), int(found[2])
    return offset, offset + size


def read_pages(folder: Path, cpu: int) -> Pages:
    offset, size = page_size((folder / "header_page").read_text())
    data = (folder / "per_cpu" / f"cpu{cpu}" / "raw").read_bytes()
    assert len(data) % size == 0
    pages = Pages()
    for at in range(0, len(data), size):
        start, commit = struct.unpack_from("=QQ" if offset == 16 else "=QI", data, at)
        pages.starts.append(start)
        pages.gaps += bool(commit & MISSED_EVENTS)
        position, end = at + offset, at + offset + (commit & COMMITTED)
        while position < end:
            header, following = struct.unpack_from("=II", data, position)
            kind = header & 31
            if kind in (TIME_EXTEND, TIME_STAMP):
                position += 8
            elif kind == PADDING:
                position += 4 + following
            else:
                pages.events += 1
                position += 4 + (4 * kind if kind else following)
        assert position == end
    return pages


def stats(folder: Path, cpu: int) -> dict[str, int]:
    """The counts that the kernel gave of the CPU's buffer, without the times."""
    lines = (folder / "per_cpu" / f"cpu{cpu}" / "stats").read_text().splitlines()
    pairs = [line.split(": ") for line in lines]
    return {name: int(value) for name, value in pairs if value.isdigit()}
