# What lies where in memory: /proc/iomem and /proc/vmallocinfo.

import re
from typing import NamedTuple

_IOMEM = re.compile(r"([0-9a-f]{1,16})-([0-9a-f]{1,16}) : (.+)")
_VMALLOC = re.compile(r"0x([0-9a-f]{16})-0x([0-9a-f]{16})\s+\d+ (\S+)(.*)")
# Addresses of kernels of 64 bits; where root may not see them they are hashes of 32 bits.
_KERNEL = 1 << 63
_RAM = "System RAM"


class Area(NamedTuple):
    # From start on, up to before end.
    start: int
    end: int
    name: str


def ram(text: str) -> list[Area]:
    # The host's memory by physical address, of the lines that are in no other's.
    matches = filter(None, map(_IOMEM.fullmatch, text.splitlines()))
    areas = [Area(int(one[1], 16), int(one[2], 16) + 1, _RAM) for one in matches if one[3] == _RAM]
    # Where root may not see them all addresses are 0.
    return [area for area in areas if area.end > 1]


def virtual_areas(text: str) -> list[Area]:
    # What is mapped in the kernel's vmalloc space, by who asked for it: "ioremap" for devices.
    areas = []
    for match in filter(None, map(_VMALLOC.fullmatch, text.splitlines())):
        start, end = int(match[1], 16), int(match[2], 16)
        name = "ioremap" if " ioremap" in match[4] else match[3].partition("+")[0]
        if _KERNEL <= start < end:
            areas.append(Area(start, end, name))
    return sorted(areas)
