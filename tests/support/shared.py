# Captures in ../shared, beside the repository: of guests with real NIC drivers, and of strangers.

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import zstandard

from support.host import SHARED, require_shared

# ../shared/nic-captures.
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


class Case:
    def __init__(self, folder: Path, guest: str, name: str) -> None:
        self.path = folder / guest / f"{name}.data"
        self.before, self.after = (
            folder / guest / "snap" / f"{name}.{side}" for side in ("before", "after")
        )


# The captures of strangers, as ../shared/corpus/manifest.json lists them. With the folder absent
# there is one case left, which skips and says why.
ABSENT: list[dict[str, Any]] = [{"file": None}]


def files(kind: str) -> list[dict[str, Any]]:
    path = SHARED / "corpus" / "manifest.json"
    listed = json.loads(path.read_text()) if path.is_file() else []
    return [one for one in listed if one["kind"] == kind] or ABSENT


def name(one: dict[str, Any]) -> str:
    return str(one["file"])


def path_of(one: dict[str, Any]) -> Path:
    return require_shared("corpus") / (one["file"] or "")
