# Bundles and experiments that netcost-pack packed into one file. Each is unpacked into a temporary
# folder for as long as it is in use.

import errno
import hashlib
import os
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from .._native import CaptureError, Unpacker
from ..unpacked import Unpacked, held
from .packed_sums import (
    EXPERIMENT,
    MANIFEST,
    SUMS,
    is_experiment_folder,
    parsed,
    require_whole,
)

_BLOCK = 512
# A large host's bundle with a copy of tracefs has about ten thousand.
_MAX_MEMBERS = 100_000
# The most header bytes between two files.
_MAX_HEADERS_BYTES = 1 << 20
_MAX_SUMS_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 20
# Before more than this is written, a dry run decompresses everything to check the total size.
_UNCHECKED_BYTES = 256 << 20
# Errors for names that conflict with each other or are invalid.
_OF_NAMES = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EINVAL)


class Unpacking:
    # The folder lives as long as this object, at most until the process exits.

    def __init__(self, source: Path) -> None:
        self.source = source
        self._folder = tempfile.TemporaryDirectory(
            prefix="netcost-bundle-", ignore_cleanup_errors=True
        )
        try:
            self.path = _unpack(source, Path(self._folder.name))
        except BaseException:
            self._folder.cleanup()
            raise


def is_packed(path: Path) -> bool:
    # Whether a file is a tar archive, compressed or not. False for an unreadable file: opening it
    # later gives a better message.
    try:
        if not path.is_file():
            return False
        block = Unpacker(str(path)).read(_BLOCK)
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (CaptureError, OSError, ValueError, tarfile.TarError):
        return False
    return True


def is_packed_experiment(path: Path) -> bool:
    # Whether a packed file holds an experiment. Its checksums come first and name every file.
    if not is_packed(path):
        return False
    try:
        names = _named_first(path)
    except (CaptureError, OSError, ValueError, ArithmeticError, EOFError, tarfile.TarError):
        return False
    if names is None:
        return is_experiment_folder(unpacked(path).path)
    return EXPERIMENT in names and MANIFEST not in names


def _named_first(path: Path) -> set[str] | None:
    # The names in the checksums, None if these do not come first.
    source = _Source(path)
    with source.opened() as archive:
        for member in source.members(archive):
            if member.isdir():
                continue
            file = archive.extractfile(member) if member.isreg() else None
            if file is not None and PurePosixPath(member.name).parts[1:] != (SUMS,):
                return None
            if file is None or member.size > _MAX_SUMS_BYTES:
                break
            return set(parsed(file.read()))
    return set()


def packing(path: Path) -> str | None:
    # "gzip", "zstd" or None.
    return Unpacker(str(path)).packing


def unpacked(path: Path) -> Unpacked:
    """Unpack a bundle or an experiment, or reuse the folder if it is still in use.

    Raises CaptureError with a line about what is wrong with it, OSError if there is no space.
    """
    state = path.stat()
    key = (str(path.resolve()), state.st_ino, state.st_mtime_ns, state.st_size)
    folder = held.get(key)
    if folder is None:
        folder = held[key] = Unpacking(path)
    return folder


class _Source:
    # A file object for tarfile that limits the total size and the headers before each file.

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unpacker = Unpacker(str(path))
        self.left = self._unpacker.limit
        self._unchecked = _UNCHECKED_BYTES
        self.header_budget: int | None = None

    def read(self, size: int) -> bytes:
        data = self._unpacker.read(size)
        self.left -= len(data)
        if self.left < 0:
            raise self.too_large()
        self._unchecked -= len(data)
        if self._unchecked < 0 <= self._unchecked + len(data):
            self._require_bounded()
        if self.header_budget is not None:
            self.header_budget -= len(data)
            if self.header_budget < 0:
                raise CaptureError("damaged: it has more headers than a bundle's files explain")
        return data

    def opened(self) -> tarfile.TarFile:
        # "r|" reads a stream front to back without seeking.
        return tarfile.open(fileobj=self, mode="r|", tarinfo=_Member)  # type: ignore[call-overload, no-any-return]

    def members(self, archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
        while True:
            self.header_budget = _MAX_HEADERS_BYTES
            member = archive.next()
            self.header_budget = None
            if member is None:
                return
            # tarfile would keep every header that it has read.
            archive.members = []  # type: ignore[attr-defined]
            yield member

    def _require_bounded(self) -> None:
        # Decompress everything once, discarding the data, before more of it is written.
        dry_run = Unpacker(str(self._path))
        left = dry_run.limit
        while data := dry_run.read(_CHUNK_BYTES):
            left -= len(data)
            if left < 0:
                raise self.too_large()

    def too_large(self) -> CaptureError:
        return CaptureError(
            f"it grows to more than {self._unpacker.limit} bytes: unpack it with tar if it is "
            "to be trusted"
        )


def _unpack(path: Path, folder: Path) -> Path:
    try:
        return _extract(path, folder)
    except (tarfile.TarError, ArithmeticError, EOFError, LookupError, RecursionError) as error:
        raise CaptureError(f"{path}: damaged or cut short ({error})") from None
    except ValueError as error:
        raise CaptureError(f"{path}: damaged ({error})") from None
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(folder)) from None
    except CaptureError as error:
        message = str(error)
        raise CaptureError(message if str(path) in message else f"{path}: {message}") from None


def _extract(path: Path, folder: Path) -> Path:
    source = _Source(path)
    sums: dict[str, str] | None = None
    digests: dict[str, str] = {}
    tops: set[str] = set()
    with source.opened() as archive:
        for member in source.members(archive):
            if len(digests) >= _MAX_MEMBERS:
                raise CaptureError(f"it holds more than {_MAX_MEMBERS} files: not a bundle")
            name = _checked(member)
            tops.add(name.parts[0])
            target, inside = folder / name, PurePosixPath(*name.parts[1:])
            if str(inside) in digests:
                raise CaptureError(f"it holds {str(inside)!r} twice")
            if member.size > source.left:
                raise source.too_large()
            try:
                if member.isdir():
                    target.mkdir(parents=True, exist_ok=True)
                    continue
                file = archive.extractfile(member)
                if file is None or not inside.parts:
                    raise CaptureError(f"{str(name)!r} in it is no file in the bundle's folder")
                digests[str(inside)] = _write(file, target, member.size)
            except OSError as error:
                if error.errno not in _OF_NAMES:
                    raise
                raise CaptureError(
                    f"{_shown(member)} in it cannot be written: {error.strerror}"
                ) from None
            if str(inside) == SUMS:
                if target.stat().st_size > _MAX_SUMS_BYTES:
                    raise CaptureError(f"its {SUMS} is larger than {_MAX_SUMS_BYTES >> 20} MiB")
                sums = parsed(target.read_bytes())
    require_whole(path, tops, digests, sums)
    return folder / tops.pop()


class _Member(tarfile.TarInfo):
    # A sparse file can claim any size with no data behind it.
    def _proc_sparse(self, tarfile: tarfile.TarFile) -> tarfile.TarInfo:
        raise CaptureError(f"{self.name!r} in it is a sparse file: not packed by netcost-pack")


def _shown(member: tarfile.TarInfo) -> str:
    name = repr(member.name.encode("utf-8", "replace").decode())
    return name if len(name) < 200 else f"{name[:200]}...'"


def _checked(member: tarfile.TarInfo) -> PurePosixPath:
    # Accepts plain files and folders inside the bundle's folder.
    name = PurePosixPath(member.name)
    shown = _shown(member)
    if member.size < 0:
        raise CaptureError(f"{shown} in it has a size of {member.size} bytes: damaged")
    if member.issym() or member.islnk():
        raise CaptureError(f"{shown} in it is a link: a bundle has none")
    if not (member.isreg() or member.isdir()) or member.issparse():
        raise CaptureError(f"{shown} in it is no plain file")
    if name.is_absolute() or ".." in name.parts or not name.parts or "\0" in member.name:
        raise CaptureError(f"{shown} in it leads out of the bundle")
    return name


def _write(file: IO[bytes], target: Path, size: int) -> str:
    digest, left = hashlib.sha256(), size
    # Do not follow links or overwrite files.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        handle = os.open(target, flags, 0o600)
    except FileNotFoundError:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(target, flags, 0o600)
    with os.fdopen(handle, "wb") as out:
        while data := file.read(_CHUNK_BYTES):
            digest.update(data)
            out.write(data)
            left -= len(data)
    if left:
        raise CaptureError(f"cut short in {target.name!r}: {left} of its {size} bytes are missing")
    return digest.hexdigest()
