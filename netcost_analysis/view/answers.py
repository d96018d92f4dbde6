"""What a picture asks of tiles, whoever carries it: by name, with what was given checked."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from .places import detail, follow

if TYPE_CHECKING:
    from .tiles import Tiles

# Longer than any task's, device's or interrupt's name.
_LONGEST_TEXT = 200


def answer(tiles: "Tiles", what: str, given: Mapping[str, Any]) -> Any:
    """What tiles say: bytes of a tile, else what JSON can hold.

    Parameters
    ----------
    tiles : Tiles
        Of the timeline that is looked at.
    what : str
        "tile", "detail", "follow" or "find".
    given : mapping
        level and index; cpu and ns, with link to follow; text, ns and cpu (or None) to find.

    Returns
    -------
    bytes, dict or None
        None where a link leads nowhere, or nothing was found.

    Raises
    ------
    ArgumentError
        For anything else, and as the tiles do.
    """
    told = tiles.header()
    if what == "tile":
        level = _whole(given, "level", told["max_level"])
        span = told["bucket_count"] << level
        index = _whole(given, "index", max(-(-told["duration_ns"] // span) - 1, 0))
        return tiles.tile(level, index)
    if what not in ("detail", "follow", "find"):
        raise ArgumentError("no such question")
    if what == "find":
        # From before the first.
        ns = _whole(given, "ns", told["duration_ns"], least=-1)
        text = given.get("text")
        if not isinstance(text, str) or not 0 < len(text) <= _LONGEST_TEXT:
            raise ArgumentError("no text to find")
        cpu = None if given.get("cpu") is None else _cpu(given, told)
        return tiles.find(text, ns, cpu)
    cpu, ns = _cpu(given, told), _whole(given, "ns", max(told["duration_ns"] - 1, 0))
    if what == "detail":
        return detail(tiles, cpu, ns)
    link = given.get("link")
    if link not in told["links"]:
        raise ArgumentError("no such link")
    return follow(tiles, cpu, ns, str(link))


def _whole(given: Mapping[str, Any], name: str, most: int, least: int = 0) -> int:
    value = given.get(name)
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,19}", value):
        value = int(value)
    # A number that came by way of JavaScript.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ArgumentError(f"{name} is a whole number from {least} to {most}")
    return value


def _cpu(given: Mapping[str, Any], told: Mapping[str, Any]) -> int:
    cpu = _whole(given, "cpu", 1 << 31)
    if cpu not in told["cpus"]:
        raise ArgumentError("no such CPU")
    return cpu
