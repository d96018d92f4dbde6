# A folder in one file, as netcost-pack writes it.

import hashlib
import tarfile
from pathlib import Path

from .._native import pack_file

_SUMS = "SHA256SUMS"
_FIRST = ("manifest.json", "experiment.json")


def write_archive(folder: Path, target: Path, how: str | None) -> None:
    # The sums first, then what says what it is; owners and times of nobody's. how: gzip or zstd.
    plain = target if how is None else target.with_name(f".{target.name}.tar")
    try:
        _write_tar(folder, plain)
        if how is not None:
            pack_file(str(plain), str(target), how)
    finally:
        if how is not None:
            plain.unlink(missing_ok=True)


def _write_tar(folder: Path, out: Path) -> None:
    paths = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }
    files = [paths[name] for name in sorted(paths, key=lambda name: (name not in _FIRST, name))]
    sums = "".join(f"{_digest(path)}  {path.relative_to(folder).as_posix()}\n" for path in files)
    place = folder / _SUMS
    place.write_bytes(sums.encode("utf-8", "surrogateescape"))
    with tarfile.open(out, "x", format=tarfile.PAX_FORMAT) as archive:
        for path in (place, *files):
            name = f"{folder.name}/{path.relative_to(folder).as_posix()}"
            member = tarfile.TarInfo(name)
            member.size, member.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                archive.addfile(member, file)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
