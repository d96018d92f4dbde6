# Masked recordings, looked at as somebody would who wants the names back: every byte, as it is and
# with whatever is packed in it unpacked.

import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import zstandard

from netcost_analysis._native import Capture, CaptureError
from support.native_tables import ALL_TABLES, Answer, Row, rows
from support.small_captures import Small

ZSTD, ZLIB = b"\x28\xb5\x2f\xfd", (b"\x78\x9c", b"\x78\x01", b"\x78\xda")
COMPRESSED, COMPRESSED2 = 81, 83


def files(path: Path) -> list[Path]:
    return sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]


# Everything that the bytes of a file hold.
def views(data: bytes) -> Iterator[bytes]:
    yield data
    if data.startswith(b"\x1f\x8b"):
        yield from views(gzip.decompress(data))
        return
    yield from _frames(data)
    for magic in ZLIB:
        at = data.find(magic)
        while at >= 0:
            with suppress(zlib.error):
                yield zlib.decompressobj().decompress(data[at:])
            at = data.find(magic, at + 1)
    if data.startswith((b"PERFILE2", b"2ELIFREP")):
        yield from _frames(b"".join(_pieces(data)))


def _frames(data: bytes) -> Iterator[bytes]:
    at = data.find(ZSTD)
    while at >= 0:
        decoder = zstandard.ZstdDecompressor().decompressobj()
        found = b""
        try:
            # A little at a time: what comes before damage, or before the end, is kept.
            for start in range(at, len(data), 4096):
                found += decoder.decompress(data[start : start + 4096])
                if decoder.eof:
                    break
        except zstandard.ZstdError:
            pass
        if found:
            yield found
            yield from views(found) if found.startswith((b"PERFILE2", b"2ELIFREP")) else ()
        at = data.find(ZSTD, at + 1)


# What perf's compressed records hold, of which all make one stream.
def _pieces(data: bytes) -> Iterator[bytes]:
    order = "big" if data.startswith(b"2ELIFREP") else "little"

    def number(at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], order)

    at = 16 if number(8, 8) == 16 else number(40, 8)
    while at + 8 <= len(data) and number(at + 6, 2) >= 8:
        kind, size = number(at, 4), number(at + 6, 2)
        if kind == COMPRESSED:
            yield data[at + 8 : at + size]
        elif kind == COMPRESSED2:
            yield data[at + 16 : at + 16 + number(at + 8, 8)]
        # Behind TRACING_DATA and AUXTRACE stands what they say.
        at += size + {66: number(at + 8, 4), 71: number(at + 8, 8)}.get(kind, 0)


# Three bytes are found by chance in what is packed, and in numbers drawn by lot; as a word in the
# midst of text or of zeros they are not.
_BEFORE = rb"(?:[\x20-\x7e\n\t]{5}(?<!\w)|\0{3})"
_BEHIND = rb"(?:(?!\w)[\x20-\x7e\n\t]{5}|\0{3})"


def _is_in(secret: bytes, data: bytes) -> bool:
    if secret not in data:
        return False
    return len(secret) >= 6 or bool(re.search(_BEFORE + re.escape(secret) + _BEHIND, data))


def found_in(path: Path, secrets: list[bytes]) -> list[tuple[str, bytes]]:
    found = set()
    for one in files(path):
        if any(secret in str(one.relative_to(path.parent)).encode() for secret in secrets):
            found.add((one.name, b"its name"))
        for view in views(one.read_bytes()):
            found |= {(one.name, secret) for secret in secrets if _is_in(secret, view)}
    return sorted(found)


# A row without its texts: names differ, everything else must not.
def bare(row: Row) -> Row:
    return {key: value for key, value in row.items() if not isinstance(value, str | bytes)}


def numbers(path: Path) -> dict[str, Any]:
    capture = Capture(str(path))
    scan = capture.scan()
    told = {key: scan[key] for key in scan if key not in ("notes", "coverage", "records", "gaps")}
    tables = {name: list(map(bare, rows(one))) for name, one in capture.all_events().items()}
    return {**told, "records": _records(scan), "tables": tables, "ledger": ledger(path)}


# Of a large recording: what it holds, and what the ledger adds up to.
def totals(path: Path) -> Any:
    capture, answer = Capture(str(path)), Answer(path, [])
    scan = capture.scan()
    sums = sorted((row["cpu"], row["context"], row["ns"]) for row in answer.sums)
    return scan["events"], _records(scan), scan["lost_events"], sums


# How many pieces compressed records come in is the packer's.
def _records(scan: dict[str, Any]) -> dict[str, int]:
    return {key: n for key, n in scan["records"].items() if not key.startswith("COMPRESSED")}


# Every table of the ledger without its texts, or why there is none.
def ledger(path: Path) -> Any:
    try:
        answer = Answer(path)
    except CaptureError as error:
        return str(error)
    tables = {name: list(map(bare, answer.tables[name])) for name in ALL_TABLES}
    # Sums are by names: as many of each size.
    sums = sorted((row["cpu"], row["context"], row["ns"]) for row in answer.sums)
    displaced = sorted(str(sorted(bare(row).items(), key=str)) for row in answer.displaced)
    return {**tables, "sums": sums, "displaced": displaced, "window": answer.window}


# One of the small captures, as a file or a folder.
def written(small: Small, path: Path) -> Path:
    if len(small.files) == 1:
        path.write_bytes(small.files["data"])
        return path
    path.mkdir()
    for name, data in small.files.items():
        (path / name).write_bytes(data)
    return path
