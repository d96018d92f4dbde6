# The captures of guests with real NIC drivers, in ../shared/nic-captures.

import gzip
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path

import zstandard

from support.host import require_shared

GUESTS = ("k6.1-igb-mini", "k6.12-e1000e-mini", "k6.12-virtio-mini", "k6.1rt-virtio-mini")
CASES = [(guest, name) for guest in GUESTS for name in ("p_main", "p_burst")]


def unpack(folder: Path) -> Path:
    source = require_shared("nic-captures")
    for guest in GUESTS:
        packed = (source / f"{guest}.tar.zst").read_bytes()
        plain = zstandard.ZstdDecompressor().stream_reader(packed).read()
        with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
            archive.extractall(folder, filter="data")
    for packed_file in folder.rglob("p_*.data.gz"):
        packed_file.with_suffix("").write_bytes(gzip.decompress(packed_file.read_bytes()))
    return folder


@dataclass(frozen=True)
class Case:
    path: Path
    before: Path
    after: Path

    def __init__(self, folder: Path, guest: str, name: str) -> None:
        object.__setattr__(self, "path", folder / guest / f"{name}.data")
        object.__setattr__(self, "before", folder / guest / "snap" / f"{name}.before")
        object.__setattr__(self, "after", folder / guest / "snap" / f"{name}.after")
