"""A timeline as one HTML file that needs nothing else: coarse tiles, and finer ones at places."""

import struct
import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..units import plural
from .document import document
from .module import module

if TYPE_CHECKING:
    from .tiles import Tiles

# What a mail takes, and a browser opens at once.
MOST_BYTES = 5_000_000
# For the header's closing words and what else is not counted.
_SPARE = 20_000
# Levels that a page has whole, whatever else: what all that is drawn begins with.
_FIRST = 3
_PAST = 2
# A place is seen whole, and closer: so many levels below the one that shows it.
_CLOSER = 3
_HOST = """
const unpacked = async (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
};
const view = mount(document.getElementById("timeline"), {
  header: data.header,
  at: data.at,
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


def page(
    tiles: "Tiles",
    places: Sequence[tuple[int, int]] = (),
    at: Mapping[str, Any] | None = None,
    most_bytes: int = MOST_BYTES,
) -> str:
    """A page of a timeline.

    Parameters
    ----------
    tiles : Tiles
        What is shown.
    places : sequence of (begin_ns, end_ns)
        Of which tiles are kept as fine as they are looked at, those named first before others.
    at : mapping, optional
        Where it opens: cpu, begin_ns and end_ns.
    most_bytes : int
        How long it may be.

    Returns
    -------
    str
        HTML. What it lacks is said in its notes.

    Raises
    ------
    ArgumentError
        Where the header alone has no room.
    """
    told = tiles.header()
    title = f"{told['capture']}: timeline"
    empty = document(title, {"header": told, "at": None, "tiles": {}}, module(), _HOST)
    room = most_bytes - len(empty.encode()) - _SPARE
    kept = _Kept(tiles, room)
    most = int(told["max_level"])
    if not kept.take(most, 0):
        raise ArgumentError(
            f"the names of {plural(len(told['owners']), 'owner')} and "
            f"{plural(len(told['tasks']), 'task')} leave no room in a page of "
            f"{most_bytes / 1e6:g} MB: choose a window"
        )
    # What all that is drawn begins with; the places; then level by level.
    kept.descend(max(most - _FIRST, 0))
    fine = sum(all(kept.take(*one) for one in _at_place(told, *place)) for place in places)
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
    data = {
        "header": told | {"notes": [*told["notes"], note]},
        "at": dict(at) if at else None,
        "tiles": kept.packed,
    }
    return document(title, data, module(), _HOST)


class _Kept:
    # Tiles that are in the page, and how many bytes more have room.
    def __init__(self, tiles: "Tiles", room: int) -> None:
        self.tiles, self.room = tiles, room
        self.packed: dict[str, str] = {}
        self._exact: set[tuple[int, int]] = set()

    def take(self, level: int, index: int) -> bool:
        # Whether it had room.
        key = f"{level}/{index}"
        if key in self.packed:
            return True
        tile = self.tiles.tile(level, index)
        text = b64encode(zlib.compress(tile, 6)).decode()
        size = len(text) + len(key) + len('"":"",')
        if size > self.room:
            return False
        self.room -= size
        self.packed[key] = text
        if _is_exact(tile):
            self._exact.add((level, index))
        return True

    def descend(self, last: int) -> int:
        # Take level after level as far as there is room, and return the last one that is whole; 0
        # where every segment is there. Below a tile that has all of its segments a few levels tell
        # of packets more finely.
        told = self.tiles.header()
        level = int(told["max_level"])
        front = [(0, 0)]
        while front:
            if not all(self.take(level, index) for index, _ in front):
                return level + 1
            if level == last:
                return 0 if all((level, index) in self._exact for index, _ in front) else level
            level -= 1
            count = _count(told, level)
            below = [
                (2 * index + half, past + ((level + 1, index) in self._exact or past > 0))
                for index, past in front
                for half in (0, 1)
                if 2 * index + half < count
            ]
            front = [(index, past) for index, past in below if past <= _PAST]
        return 0


def _is_exact(tile: bytes) -> bool:
    # Whether all its CPUs have segments, and none shares alone.
    (count,) = struct.unpack_from("<I", tile, 4)
    return all(struct.unpack_from("<I", tile, 8 + 8 * place)[0] == 1 for place in range(count))


def _count(told: Mapping[str, Any], level: int) -> int:
    return max(-(-int(told["duration_ns"]) // (int(told["bucket_count"]) << level)), 1)


def _at_place(told: Mapping[str, Any], begin: int, end: int) -> Iterator[tuple[int, int]]:
    most, buckets = int(told["max_level"]), int(told["bucket_count"])
    # The level in which it has about as many buckets as a tile.
    fits = min(max(-(-max(end - begin, 1) // buckets) - 1, 0).bit_length(), most)
    for level in range(min(fits + 1, most), max(fits - _CLOSER, 0) - 1, -1):
        span = buckets << level
        last = min(max(end - 1, begin) // span, _count(told, level) - 1)
        yield from ((level, index) for index in range(begin // span, last + 1))
