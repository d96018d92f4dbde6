"""The requests of the picture, checked and answered; the same for server and widget."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from .places import detail, follow

if TYPE_CHECKING:
    from .tiles import Tiles

# Longer than any task's, device's or interrupt's name.
_LONGEST_TEXT = 200


def respond(tiles: "Tiles", what: str, given: Mapping[str, Any]) -> Any:
    """What tiles say: bytes of a tile, else what JSON can hold; None where nothing was found.

    what: "tile", "detail", "follow" or "find". given: level and index; cpu and ns, with link to
    follow; text, ns and cpu (or None) to find. Raises ArgumentError for anything else.
    """
    header = tiles.header()
    if what == "tile":
        level = _whole(given, "level", header["max_level"])
        span = header["bucket_count"] << level
        index = _whole(given, "index", max(-(-header["duration_ns"] // span) - 1, 0))
        return tiles.tile(level, index)
    if what not in ("detail", "follow", "find"):
        raise ArgumentError("no such question")
    if what == "find":
        # -1: from before the first segment.
        ns = _whole(given, "ns", header["duration_ns"], least=-1)
        text = given.get("text")
        if not isinstance(text, str) or not 0 < len(text) <= _LONGEST_TEXT:
            raise ArgumentError("no text to find")
        cpu = None if given.get("cpu") is None else _cpu(given, header)
        return tiles.find(text, ns, cpu)
    cpu, ns = _cpu(given, header), _whole(given, "ns", max(header["duration_ns"] - 1, 0))
    if what == "detail":
        return detail(tiles, cpu, ns)
    link = given.get("link")
    if link not in header["links"]:
        raise ArgumentError("no such link")
    return follow(tiles, cpu, ns, str(link))


def _whole(given: Mapping[str, Any], name: str, most: int, least: int = 0) -> int:
    value = given.get(name)
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,19}", value):
        value = int(value)
    # JavaScript sends whole numbers as floats.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ArgumentError(f"{name} is a whole number from {least} to {most}")
    return value


def _cpu(given: Mapping[str, Any], header: Mapping[str, Any]) -> int:
    cpu = _whole(given, "cpu", 1 << 31)
    if cpu not in header["cpus"]:
        raise ArgumentError("no such CPU")
    return cpu
