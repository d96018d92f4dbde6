"""A timeline as a self-contained HTML file, and the page that the server uses too."""

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

# Mail servers accept this size, and browsers open it at once.
MOST_BYTES = 5_000_000
# Room for the final note and whatever else is not counted.
_SPARE = 20_000
# A page has this many of the coarsest levels first, because drawing starts from them.
_FIRST = 3
# Below a tile that has all its segments, this many levels still add detail on packets.
_PAST = 2
# A place gets this many levels below the one that shows all of it.
_CLOSER = 3
_EPISODES = 40
_GAPS = 10
# Bytes that a segment takes in a page, over all levels.
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
# The page runs only its own scripts, and connects only to its own server, if any.
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

# In the order of imports. The last file's exports are the module's.
_FILES = ("text", "tiles", "lanes", "strips", "panels", "scene", "hands", "desk", "timeline")
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./\w+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) )", re.MULTILINE)


def page(tiles: Tiles, places: Sequence[tuple[int, int]] = (), most_bytes: int = MOST_BYTES) -> str:
    """A timeline as HTML of at most most_bytes, whose notes say what was left out.

    places: stretches (begin and end in ns) that keep fine tiles, most important first. Raises
    ArgumentError if the header alone does not fit.
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
    # Add the coarsest levels, then the places, then level after level.
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
        f"this page holds {held}, without details of single interrupts: netcost view PATH shows "
        "them"
    )
    noted = header | {"notes": [*header["notes"], note]}
    return document(title, {"header": noted, "tiles": kept.packed}, _HOST)


def view_page(
    timeline: "Timeline", most_bytes: int = MOST_BYTES, victim: "Task | None" = None
) -> str:
    """The timeline as one self-contained HTML page. Raises what Tiles.of() raises.

    victim: the task whose longest episodes keep full detail; by default, the timeline's victim.
    """
    tiles = Tiles.of(timeline)
    header = tiles.header()
    stretches: list[tuple[int, int]] = []
    # A page has room for all of a small timeline, without choosing places.
    if sum(timeline.columns("sums")["segments"]) > most_bytes // _SEGMENT_BYTES:
        marks = sorted(header["marks"], key=lambda gap: gap["begin_ns"] - gap["end_ns"])
        stretches = _episodes(timeline, victim, int(header["begin_ns"]))
        stretches += [(gap["begin_ns"], gap["end_ns"]) for gap in marks[:_GAPS]]
    # Show its own length before and after each stretch.
    places = [
        (max(2 * begin - end, 0), min(2 * end - begin, header["duration_ns"]))
        for begin, end in stretches
    ]
    return page(tiles, places, most_bytes=most_bytes)


def _episodes(timeline: "Timeline", victim: "Task | None", begin_ns: int) -> list[tuple[int, int]]:
    try:
        episodes = columns(LONGEST(timeline, longest(timeline, victim, _EPISODES))["episodes"])
    except (AbsentError, CaptureError):
        # The victim did not run, or nothing interrupted it.
        return []
    pairs = zip(episodes["start_ns"], episodes["end_ns"], strict=True)
    return [(start - begin_ns, end - begin_ns) for start, end in pairs]


class _Kept:
    # The tiles of the page, and the bytes left.
    def __init__(self, tiles: Tiles, bytes_left: int) -> None:
        self.tiles, self.bytes_left = tiles, bytes_left
        self.packed: dict[str, str] = {}
        self._exact: set[tuple[int, int]] = set()

    def add(self, level: int, index: int) -> bool:
        # Returns whether the tile fits.
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
        # A tile is exact if it has segments for all CPUs, rather than shares of buckets.
        (count,) = struct.unpack_from("<I", tile, 4)
        if all(struct.unpack_from("<I", tile, 8 + 8 * place)[0] == 1 for place in range(count)):
            self._exact.add((level, index))
        return True

    def descend(self, last: int) -> int:
        # Add level after level while there is room, and return the last complete one; 0 if the page
        # has every segment.
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
    # On this level, the place takes about one tile.
    fits = min(max_level(end - begin), most)
    for level in range(min(fits + 1, most), max(fits - _CLOSER, 0) - 1, -1):
        span = buckets << level
        last = min(max(end - 1, begin) // span, _count(header, level) - 1)
        yield from ((level, index) for index in range(begin // span, last + 1))


def module() -> str:
    """JavaScript that exports mount(), and by default what anywidget calls.

    The files are joined, so their top-level names must differ, or a browser refuses the module.
    """
    folder = Path(__file__).parent / "js"
    parts = {name: (folder / f"{name}.js").read_text(encoding="utf-8") for name in _FILES}
    parts = {name: _IMPORT.sub("", text) for name, text in parts.items()}
    last = parts.pop(_FILES[-1])
    return "\n".join([*(_EXPORT.sub("", text) for text in parts.values()), last])


def document(title: str, data: Any, host: str, connect: str = "'none'") -> str:
    """A page. host: a script that mounts the view; data: JSON values, its variable `data`."""
    # Only "</script" and "<!--" end a <script>: escape every "<".
    safe = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return _PAGE.format(
        policy=escape(_POLICY.format(connect=connect)),
        title=escape(printable(title)),
        data=safe,
        module=module(),
        host=host,
    )
