# Captures that perf 6.1 refuses, put into a shape that it takes, for its opinion on what is inside:
# attrs cut to the size that it knows, COMPRESSED2 records unpacked, a pipe turned into a file.

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import zstandard

KNOWN_ATTR = 128
ATTR, TRACING_DATA, COMPRESSED2 = 64, 66, 83
FIRST_USER = 64


@dataclass(frozen=True)
class Piece:
    type: int
    # The record, header included, and what follows it uncounted.
    whole: bytes

    @property
    def body(self) -> bytes:
        return self.whole[8:]


def pieces(data: bytes, order: str) -> Iterator[Piece]:
    at = 16
    while at + 8 <= len(data):
        type_, _, size = struct.unpack_from(order + "IHH", data, at)
        size += struct.unpack_from(order + "I", data, at + 8)[0] if type_ == TRACING_DATA else 0
        yield Piece(type_, data[at : at + size])
        at += size


def with_known_attrs(data: bytes) -> bytes:
    """A little-endian file whose attrs are larger than perf knows: the rest, it does not need."""
    changed = bytearray(data)
    entry, attrs_at, attrs_size = struct.unpack_from("<QQQ", data, 16)
    count, narrow = attrs_size // entry, KNOWN_ATTR + 16
    for place in range(count):
        at = attrs_at + place * entry
        attr = bytearray(data[at : at + KNOWN_ATTR])
        struct.pack_into("<I", attr, 4, KNOWN_ATTR)
        ids = data[at + entry - 16 : at + entry]
        start = attrs_at + place * narrow
        changed[start : start + narrow] = attr + ids
    struct.pack_into("<QQQ", changed, 16, narrow, attrs_at, count * narrow)
    return bytes(changed)


def unpacked(data: bytes) -> bytes:
    """A little-endian pipe with COMPRESSED2 records: one zstd stream runs through all of them."""
    unpack = zstandard.ZstdDecompressor().decompressobj()
    result = data[:16]
    for piece in pieces(data, "<"):
        if piece.type == COMPRESSED2:
            (size,) = struct.unpack_from("<Q", piece.body)
            result += unpack.decompress(piece.body[8 : 8 + size])
        else:
            result += piece.whole
    return result


def as_file(data: bytes) -> bytes:
    """
    A big-endian pipe with one event and without formats, as a file: perf 6.1 does not know the
    features in front of ChromeOS' pipes, and loses its way in every pipe of foreign byte order.
    """
    told = list(pieces(data, ">"))
    [attr] = [piece.body for piece in told if piece.type == ATTR]
    (size,) = struct.unpack_from(">I", attr, 4)
    records = b"".join(piece.whole for piece in told if piece.type < FIRST_USER)
    ids_at, attrs_at = 104, 104 + len(attr) - size
    data_at = attrs_at + size + 16
    header = data[:8] + struct.pack(">QQQQ", 104, size + 16, attrs_at, size + 16)
    header += struct.pack(">QQQQ", data_at, len(records), 0, 0) + bytes(32)
    section = struct.pack(">QQ", ids_at, len(attr) - size)
    return header + attr[size:] + attr[:size] + section + records
