# Bundles in one file: as netcost-pack makes them, and as nobody should.

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import zstandard

from support.perfdata import cpu, recording
from support.perfdata import happenings as h

S = 1_000_000_000
OPENSSL = h.Task(500, "openssl")


def small_trace(path: Path) -> Path:
    told = recording(
        cpu(
            0,
            *(h.SoftirqRaise(S, 3), h.SoftirqEntry(S + 100, 3), h.SoftirqExit(S + 900, 3)),
            h.Switch(S + 2000, h.idle(0)),
            task=OPENSSL,
        ),
        known=(OPENSSL,),
    )
    return told.write(path)


# The files of a bundle, by their paths in it.
def bundle_files(folder: Path) -> dict[str, bytes]:
    manifest = {
        "netcost_bundle": 1,
        "trace": "trace.perf.data",
        "victim": {"command": "openssl speed", "cpu": 0, "output": "victim.txt"},
    }
    return {
        "manifest.json": json.dumps(manifest).encode(),
        "trace.perf.data": small_trace(folder / "trace").read_bytes(),
        "victim.txt": b"Doing sha256 for 3s on 1024 size blocks: 4523369 sha256's in 2.41s\n",
        "before/stat": b"cpu  1 2 3 4 5 6 7 8 9 10\n",
    }


def sums(files: Mapping[str, bytes]) -> bytes:
    lines = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items()]
    return "".join(lines).encode()


def file(name: str, data: bytes) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    return member, data


def special(name: str, kind: bytes, to: str = "") -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, to
    return member, b""


Members = Iterable[tuple[tarfile.TarInfo, bytes]]


def members(files: Mapping[str, bytes], top: str = "bundle") -> list[tuple[tarfile.TarInfo, bytes]]:
    whole = {"SHA256SUMS": sums(files), **files}
    return [file(f"{top}/{name}", data) for name, data in whole.items()]


def tar(made: Members, form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for member, data in made:
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def packed(data: bytes, how: str) -> bytes:
    if how == "gzip":
        return gzip.compress(data)
    return data if how == "none" else zstandard.ZstdCompressor().compress(data)


Made = list[tuple[tarfile.TarInfo, bytes]]


# What is done to a sound bundle's members, and what is said of it.
def _with(*more: tuple[tarfile.TarInfo, bytes]) -> Callable[[Made], Made]:
    return lambda made: [*made, *more]


def _device(made: Made) -> Made:
    member, data = special("bundle/disk", tarfile.BLKTYPE)
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
# Each with what is said of it.
REFUSED: dict[str, tuple[Callable[[Made], Made], str]] = {
    "climbs": (_with(file("bundle/../../out", b"x")), "points outside the bundle"),
    "climbs at once": (_with(file("../out", b"x")), "points outside the bundle"),
    "absolute": (_with(file("/tmp/netcost-out", b"x")), "points outside the bundle"),
    "link outside": (_with(special("bundle/l", LINK, "/etc/passwd")), "is a link"),
    "link inside": (_with(special("bundle/l", LINK, "victim.txt")), "is a link"),
    "hard link": (_with(special("bundle/l", HARD, "bundle/victim.txt")), "is a link"),
    "folder that is a link": (
        _with(special("bundle/d", LINK, "/tmp"), file("bundle/d/out", b"x")),
        "is a link",
    ),
    "device": (_device, "is not a regular file"),
    "pipe": (_with(special("bundle/p", FIFO)), "is not a regular file"),
    "twice": (_with(file("bundle/victim.txt", b"x")), "it holds 'victim.txt' twice"),
    "changed": (_changed, "'victim.txt' does not match its checksum"),
    "missing": (_without("victim.txt"), "'victim.txt' is missing"),
    "extra": (_with(file("bundle/more", b"x")), "'more' is not in its SHA256SUMS"),
    "no sums": (_without("SHA256SUMS"), "it holds no SHA256SUMS"),
    "no manifest": (_without("manifest.json"), "not a bundle"),
    "two folders": (_with(file("other/more", b"x")), "not a bundle"),
    "beside the folder": (_with(file("more", b"x")), "not in the bundle's folder"),
    "file for a folder": (_with(file("bundle/victim.txt/x", b"x")), "victim.txt"),
    "name with control letters": (_with(special("bundle/\x1b[2J", LINK, "x")), "is a link"),
    "long name": (_with(file("bundle/" + "n" * 70_000, b"x")), "too long|headers"),
    "headers without end": (
        _with(file("bundle/" + "n" * 3_000_000, b"x")),
        "more headers than the files of a bundle need",
    ),
}
