# The four ways perf stores records: a file with a table of contents, a pipe, either of them with
# the records packed into COMPRESSED or COMPRESSED2 records, and a directory with one file of
# records per recording thread.

from collections.abc import Iterable, Sequence
from pathlib import Path

import zstandard

from .features import COMPRESSED, DIR_FORMAT, TRACING_DATA, USUAL_HEADER, Header, features
from .formats import Format
from .machine import X86_64, Machine, padded
from .records import Attr, Encoder, Record

MAGIC = b"PERFILE2"
HEADER_SIZE = 104
HEADER_ATTR, HEADER_TRACING_DATA, HEADER_FEATURE = 64, 66, 80
# perf cuts its compressed output into records of at most this (PERF_SAMPLE_MAX_SIZE - 1).
RECORD_LIMIT = 65535 - 8


def feature_table(start: int, found: dict[int, bytes], machine: Machine) -> bytes:
    contents, table = b"", b""
    offset = start + 16 * len(found)
    for data in found.values():
        table += machine.pack("QQ", offset + len(contents), len(data))
        contents += data
    return table + contents


def compressed_records(data: bytes, version: int, machine: Machine, chunk: int = 20_000) -> bytes:
    # One zstd frame runs through all records and is flushed, not ended, at each: so does perf,
    # whose chunks follow its buffers and not the records inside, so a record may start in one and
    # end in the next.
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    result = b""
    for start in range(0, len(data), chunk):
        packed = packer.compress(data[start : start + chunk]) + packer.flush(
            zstandard.COMPRESSOBJ_FLUSH_BLOCK
        )
        for cut in range(0, len(packed), RECORD_LIMIT - 16):
            piece = packed[cut : cut + RECORD_LIMIT - 16]
            if version == 1:
                result += machine.pack("IHH", 81, 0, 8 + len(piece)) + piece
            else:
                body = machine.pack("Q", len(piece)) + padded(piece, 8)
                result += machine.pack("IHH", 83, 0, 8 + len(body)) + body
    return result


def write_file(
    attrs: Sequence[Attr],
    formats: Iterable[Format],
    records: Iterable[Record],
    header: Header = USUAL_HEADER,
    machine: Machine = X86_64,
    *,
    compressed: int = 0,
    unfinished: bool = False,
    threads: bool = False,
) -> bytes:
    """
    Bytes of a perf.data file, as ``perf record -o FILE`` leaves it.

    :param compressed: 0, or the version (1, 2) of the COMPRESSED records to pack the data into
    :param unfinished: leave data_size at 0 and the features off, as a killed recorder does
    :param threads: say in the header that this is the first file of a directory
    """
    attr_size = max((attr.size for attr in attrs), default=128)
    entry_size = attr_size + 16
    ids = b"".join(machine.pack("Q", identity) for attr in attrs for identity in attr.ids)
    ids_at = HEADER_SIZE
    attrs_at = ids_at + len(ids)
    data_at = attrs_at + entry_size * len(attrs)
    table, cursor = b"", ids_at
    for attr in attrs:
        table += padded(attr.encode(machine), attr_size)[:attr_size] + machine.pack(
            "QQ", cursor, 8 * len(attr.ids)
        )
        cursor += 8 * len(attr.ids)
    encoder = Encoder(attrs, machine)
    data = b"".join(encoder.encode(record) for record in records)
    found = features(machine, header, attrs, formats)
    if compressed:
        data = compressed_records(data, compressed, machine)
        found[COMPRESSED] = machine.pack("IIIII", compressed, 1, 1, 4, 528384)
    if threads:
        found[DIR_FORMAT] = machine.pack("Q", 1)
    found = dict(sorted(found.items()))
    bits = sum(1 << bit for bit in found)
    words = [bits >> shift & (2**64 - 1) for shift in range(0, 256, 64)]
    top = MAGIC if machine.order == "<" else MAGIC[::-1]
    top += machine.pack("QQ", HEADER_SIZE, entry_size)
    top += machine.pack("QQ", attrs_at, entry_size * len(attrs))
    top += machine.pack("QQ", data_at, 0 if unfinished else len(data)) + machine.pack("QQ", 0, 0)
    top += machine.pack("QQQQ", *words)
    tail = b"" if unfinished else feature_table(data_at + len(data), found, machine)
    return top + ids + table + data + tail


def write_pipe(
    attrs: Sequence[Attr],
    formats: Iterable[Format],
    records: Iterable[Record],
    header: Header = USUAL_HEADER,
    machine: Machine = X86_64,
    *,
    compressed: int = 0,
) -> bytes:
    """
    Bytes of a perf.data pipe, as ``perf record -o -`` writes it: everything is a record.

    :param compressed: 0, or the version (1, 2) of the COMPRESSED records to pack the data into
    """
    found = features(machine, header, attrs, formats)
    tracing = found.pop(TRACING_DATA, None)
    if compressed:
        found[COMPRESSED] = machine.pack("IIIII", compressed, 1, 1, 4, 528384)
    result = (MAGIC if machine.order == "<" else MAGIC[::-1]) + machine.pack("Q", 16)
    for attr in attrs:
        body = padded(attr.encode(machine), 8) + b"".join(
            machine.pack("Q", identity) for identity in attr.ids
        )
        result += machine.pack("IHH", HEADER_ATTR, 0, 8 + len(body)) + body
    for bit, data in sorted(found.items()):
        body = machine.pack("Q", bit) + padded(data, 8)
        result += machine.pack("IHH", HEADER_FEATURE, 0, 8 + len(body)) + body
    if tracing is not None:
        # Like AUXTRACE: header.size covers the size word and not what follows it.
        data = padded(tracing, 8)
        result += (
            machine.pack("IHH", HEADER_TRACING_DATA, 0, 12) + machine.pack("I", len(data)) + data
        )
    encoder = Encoder(attrs, machine)
    data = b"".join(encoder.encode(record) for record in records)
    return result + (compressed_records(data, compressed, machine) if compressed else data)


def write_directory(
    path: Path,
    attrs: Sequence[Attr],
    formats: Iterable[Format],
    records: Sequence[Sequence[Record]],
    header: Header = USUAL_HEADER,
    machine: Machine = X86_64,
) -> None:
    """
    A perf.data directory, as ``perf record --threads`` leaves it.

    :param records: of the main file ``data``, then of each thread's ``data.N``
    """
    path.mkdir()
    (path / "data").write_bytes(
        write_file(attrs, formats, records[0], header, machine, threads=True)
    )
    encoder = Encoder(attrs, machine)
    for number, share in enumerate(records[1:]):
        (path / f"data.{number}").write_bytes(b"".join(encoder.encode(record) for record in share))
