# Bundles in one file: as netcost-pack makes them, and as nobody should.

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
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
