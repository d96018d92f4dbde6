"""A timeline as HTML that needs nothing else: the page around it, and a file with its tiles."""

import json
import re
import struct
import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._native import CaptureError
from ..arrow import columns
from ..errors import AbsentError, ArgumentError
from ..questions.longest_episodes import LONGEST, longest
from ..units import plural, printable
from .owners import max_level
from .tiles import Tiles

if TYPE_CHECKING:
    from ..timeline.task import Task
    from ..timeline.timeline import Timeline

# Mail servers accept this much, and a browser opens it at once.
MOST_BYTES = 5_000_000
# Room for the note at the end and whatever else is not counted.
_SPARE = 20_000
# A page always has the coarsest levels, because drawing starts from them.
_FIRST = 3
# Below a tile with all of its segments, this many levels still add detail about packets.
_PAST = 2
# A place has this many levels below the one that shows it whole.
_CLOSER = 3
_EPISODES = 40
_GAPS = 10
# Size of a segment in a page, on all levels together.
_SEGMENT_BYTES = 60
_HOST = """
const unpacked = async (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
};
const view = mount(document.getElementById("timeline"), {
  header: data.header,
  fills: true,
  scrolls: window.self !== window.top,
  tile: async (level, index) => {
    const text = data.tiles[`${level}/${index}`];
    return text === undefined ? null : unpacked(text);
  },
});
// Within a report, its tables say where to go.
if (window.parent !== window) {
  window.addEventListener("message", ({ source, data }) => {
    const to = source === window.parent ? data?.netcostVisit : null;
    if (!Number.isFinite(to?.begin_ns) || !Number.isFinite(to.end_ns)) return;
    const { begin_ns, end_ns, cpu } = to;
    view.visit({ begin_ns, end_ns, cpu: Number.isInteger(cpu) ? cpu : null }, true);
  });
  window.parent.postMessage({ netcostReady: true }, "*");
}
"""
# The page runs its own scripts, and asks nobody but where it came from.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src {connect}; base-uri 'none'; form-action 'none'"
)
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>body {{ margin: 0; }}</style></head><body>
<main id="timeline"></main>
<noscript>The timeline is drawn by JavaScript, all of which is in this page.</noscript>
<script type="application/json" id="data">{data}</script>
<script type="module">
{module}
const data = JSON.parse(document.getElementById("data").textContent);
{host}
</script></body></html>
"""

# In the order of their imports; the last one exports.
_FILES = ("text", "tiles", "lanes", "strips", "panels", "scene", "hands", "desk", "timeline")
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./\w+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) )", re.MULTILINE)


def page(tiles: Tiles, places: Sequence[tuple[int, int]] = (), most_bytes: int = MOST_BYTES) -> str:
    """A timeline as HTML of so many bytes at most; what it lacks is said in its notes.

    places: from when to when (ns) tiles are kept as fine as they are looked at, those named first
    before others. Raises ArgumentError where the header alone has no room.
    """
    header = tiles.header()
    title = f"{header['capture']}: timeline"
    empty = document(title, {"header": header, "tiles": {}}, _HOST)
    kept = _Kept(tiles, most_bytes - len(empty.encode()) - _SPARE)
    most = int(header["max_level"])
    if not kept.add(most, 0):
        raise ArgumentError(
            f"the names of {plural(len(header['owners']), 'owner')} and "
            f"{plural(len(header['tasks']), 'task')} leave no room in a page of "
            f"{most_bytes / 1e6:g} MB: choose a window"
        )
    # The coarsest levels first, then the places, then level by level.
    kept.descend(max(most - _FIRST, 0))
    fine = sum(all(kept.add(*tile) for tile in _at_place(header, *place)) for place in places)
    everywhere = kept.descend(0)
    held = "every segment"
    if everywhere > 0:
        held = (
            f"shares in buckets of {1 << everywhere} ns over the whole window, finer ones at "
            f"{plural(fine, 'place')}"
        )
    note = (
        f"this page by itself holds {held}, and no details of single interrupts: netcost view PATH "
        "shows them"
    )
    noted = header | {"notes": [*header["notes"], note]}
    return document(title, {"header": noted, "tiles": kept.packed}, _HOST)


def view_page(
    timeline: "Timeline", most_bytes: int = MOST_BYTES, victim: "Task | None" = None
) -> str:
    """The timeline as one HTML page that needs nothing else; raises what Tiles.of does.

    victim: whose longest episodes are as fine as they are; None: the timeline's.
    """
    tiles = Tiles.of(timeline)
    header = tiles.header()
    stretches: list[tuple[int, int]] = []
    # A page holds a small timeline whole, and needs no places.
    if sum(timeline.columns("sums")["segments"]) > most_bytes // _SEGMENT_BYTES:
        marks = sorted(header["marks"], key=lambda one: one["begin_ns"] - one["end_ns"])
        stretches = _episodes(timeline, victim, int(header["begin_ns"]))
        stretches += [(one["begin_ns"], one["end_ns"]) for one in marks[:_GAPS]]
    # With as much before and behind each as it is long.
    places = [
        (max(2 * begin - end, 0), min(2 * end - begin, header["duration_ns"]))
        for begin, end in stretches
    ]
    return page(tiles, places, most_bytes=most_bytes)


def _episodes(timeline: "Timeline", victim: "Task | None", begin_ns: int) -> list[tuple[int, int]]:
    try:
        found = columns(LONGEST(timeline, longest(timeline, victim, _EPISODES))["episodes"])
    except (AbsentError, CaptureError):
        # The task that the timeline is about did not run, or nothing interrupted it.
        return []
    pairs = zip(found["start_ns"], found["end_ns"], strict=True)
    return [(start - begin_ns, end - begin_ns) for start, end in pairs]


class _Kept:
    # The tiles of the page, and how many bytes are left.
    def __init__(self, tiles: Tiles, bytes_left: int) -> None:
        self.tiles, self.bytes_left = tiles, bytes_left
        self.packed: dict[str, str] = {}
        self._exact: set[tuple[int, int]] = set()

    def add(self, level: int, index: int) -> bool:
        # Returns whether it fits.
        key = f"{level}/{index}"
        if key in self.packed:
            return True
        tile = self.tiles.tile(level, index)
        text = b64encode(zlib.compress(tile, 6)).decode()
        size = len(text) + len(key) + len('"":"",')
        if size > self.bytes_left:
            return False
        self.bytes_left -= size
        self.packed[key] = text
        # Whether it has segments for all CPUs, rather than shares of buckets.
        (count,) = struct.unpack_from("<I", tile, 4)
        if all(struct.unpack_from("<I", tile, 8 + 8 * place)[0] == 1 for place in range(count)):
            self._exact.add((level, index))
        return True

    def descend(self, last: int) -> int:
        # Add level after level as far as there is room, and return the last one that is whole; 0
        # where every segment is there.
        header = self.tiles.header()
        level = int(header["max_level"])
        front = [(0, 0)]
        while front:
            if not all(self.add(level, index) for index, _ in front):
                return level + 1
            if level == last:
                return 0 if all((level, index) in self._exact for index, _ in front) else level
            level -= 1
            count = _count(header, level)
            below = [
                (2 * index + half, past + ((level + 1, index) in self._exact or past > 0))
                for index, past in front
                for half in (0, 1)
                if 2 * index + half < count
            ]
            front = [(index, past) for index, past in below if past <= _PAST]
        return 0


def _count(header: Mapping[str, Any], level: int) -> int:
    return max(-(-int(header["duration_ns"]) // (int(header["bucket_count"]) << level)), 1)


def _at_place(header: Mapping[str, Any], begin: int, end: int) -> Iterator[tuple[int, int]]:
    most, buckets = int(header["max_level"]), int(header["bucket_count"])
    # The level in which it has about as many buckets as a tile.
    fits = min(max_level(end - begin), most)
    for level in range(min(fits + 1, most), max(fits - _CLOSER, 0) - 1, -1):
        span = buckets << level
        last = min(max(end - 1, begin) // span, _count(header, level) - 1)
        yield from ((level, index) for index in range(begin // span, last + 1))


def module() -> str:
    """JavaScript that exports mount(), and as default what anywidget calls.

    Names at the top level of the files are all different: else a browser refuses it.
    """
    folder = Path(__file__).parent / "js"
    parts = {name: (folder / f"{name}.js").read_text(encoding="utf-8") for name in _FILES}
    parts = {name: _IMPORT.sub("", text) for name, text in parts.items()}
    last = parts.pop(_FILES[-1])
    return "\n".join([*(_EXPORT.sub("", text) for text in parts.values()), last])


def document(title: str, data: Any, host: str, connect: str = "'none'") -> str:
    """A page; data: what JSON holds, which the script of host has as `data`, and mounts."""
    # Only "</script" and "<!--" end a <script>: escape every "<".
    safe = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return _PAGE.format(
        policy=escape(_POLICY.format(connect=connect)),
        title=escape(printable(title)),
        data=safe,
        module=module(),
        host=host,
    )
