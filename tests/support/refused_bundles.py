# Packed bundles that are refused, each with what is said of it.

import tarfile
from collections.abc import Callable

from support import packed_bundles as p

Made = list[tuple[tarfile.TarInfo, bytes]]


# What is done to a sound bundle's members, and what is said of it.
def _with(*more: tuple[tarfile.TarInfo, bytes]) -> Callable[[Made], Made]:
    return lambda made: [*made, *more]


def _device(made: Made) -> Made:
    member, data = p.special("bundle/disk", tarfile.BLKTYPE)
    member.devmajor, member.devminor = 8, 0
    return [*made, (member, data)]


def _changed(made: Made) -> Made:
    return [
        (member, b"X" + data[1:] if member.name.endswith("victim.txt") else data)
        for member, data in made
    ]


def _without(name: str) -> Callable[[Made], Made]:
    return lambda made: [one for one in made if not one[0].name.endswith(name)]


LINK, HARD, FIFO = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE
REFUSED: dict[str, tuple[Callable[[Made], Made], str]] = {
    "climbs": (_with(p.file("bundle/../../out", b"x")), "leads out of the bundle"),
    "climbs at once": (_with(p.file("../out", b"x")), "leads out of the bundle"),
    "absolute": (_with(p.file("/tmp/netcost-out", b"x")), "leads out of the bundle"),
    "link outside": (_with(p.special("bundle/l", LINK, "/etc/passwd")), "is a link"),
    "link inside": (_with(p.special("bundle/l", LINK, "victim.txt")), "is a link"),
    "hard link": (_with(p.special("bundle/l", HARD, "bundle/victim.txt")), "is a link"),
    "folder that is a link": (
        _with(p.special("bundle/d", LINK, "/tmp"), p.file("bundle/d/out", b"x")),
        "is a link",
    ),
    "device": (_device, "is no plain file"),
    "pipe": (_with(p.special("bundle/p", FIFO)), "is no plain file"),
    "twice": (_with(p.file("bundle/victim.txt", b"x")), "it holds 'victim.txt' twice"),
    "changed": (_changed, "'victim.txt' is not what its checksum says"),
    "missing": (_without("victim.txt"), "'victim.txt' is missing"),
    "extra": (_with(p.file("bundle/more", b"x")), "'more' is not in its SHA256SUMS"),
    "no sums": (_without("SHA256SUMS"), "no SHA256SUMS in it"),
    "no manifest": (_without("manifest.json"), "no bundle"),
    "two folders": (_with(p.file("other/more", b"x")), "no bundle"),
    "beside the folder": (_with(p.file("more", b"x")), "no file in the bundle's folder"),
    "file for a folder": (_with(p.file("bundle/victim.txt/x", b"x")), "victim.txt"),
    "name with control letters": (_with(p.special("bundle/\x1b[2J", LINK, "x")), "is a link"),
    "long name": (_with(p.file("bundle/" + "n" * 70_000, b"x")), "too long|headers"),
    "headers without end": (
        _with(p.file("bundle/" + "n" * 3_000_000, b"x")),
        "more headers than a bundle's files explain",
    ),
}
