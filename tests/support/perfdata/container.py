# How perf stores records: in a file with a table of contents, in a directory with one file of
# records per recording thread, or in a pipe, where everything is a record.

import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import zstandard

from .attr import Attr
from .features import COMPRESSED, DIR_FORMAT, TRACING_DATA, USUAL_HEADER, Header, features
from .formats import Format
from .machine import X86_64, Machine, padded
from .records import Auxtrace, Bytes, EventType, HeaderFeature, Other, Record
from .sample import CPU_MODES, Layout, Sample

# Version 2 of the magic is a number and turns around with the byte order; version 1 was text, and
# only the size of the attrs tells the order.
MAGIC, OLD_MAGIC = b"PERFILE2", b"PERFFILE"
# Before perf 2.6.34 the header ended where the bits of the features begin now.
HEADER_SIZE, SHORT_HEADER_SIZE = 104, 72
FEATURES = 256

Records = Iterable[Record | Sample]


def magic(machine: Machine, version: int = 2) -> bytes:
    return OLD_MAGIC if version == 1 else MAGIC if machine.order == "<" else MAGIC[::-1]


def feature_table(start: int, found: dict[int, bytes], machine: Machine) -> bytes:
    contents, table = b"", b""
    offset = start + 16 * len(found)
    for data in found.values():
        table += machine.pack("QQ", offset + len(contents), len(data))
        contents += data
    return table + contents


# The bitmap is an array of `unsigned long`, each in the machine's byte order.
def feature_bits(found: Iterable[int], machine: Machine) -> bytes:
    bits, width = sum(1 << bit for bit in found), 8 * machine.word
    words = [bits >> shift & ((1 << width) - 1) for shift in range(0, FEATURES, width)]
    return b"".join(machine.integer(word, machine.word) for word in words)


def event_types(attrs: Sequence[Attr], machine: Machine) -> bytes:
    return b"".join(
        machine.pack("Q", attr.config) + attr.name.encode().ljust(64, b"\0") for attr in attrs
    )


def write_file(
    attrs: Sequence[Attr],
    formats: Iterable[Format],
    records: Records,
    header: Header = USUAL_HEADER,
    machine: Machine = X86_64,
    *,
    compressed: int = 0,
    unfinished: bool = False,
    threads: bool = False,
    version: int = 2,
    short: bool = False,
    names: bool = False,
) -> bytes:
    """
    Bytes of a perf.data file, as ``perf record -o FILE`` leaves it.

    :param compressed: 0, or the version (1, 2) of the COMPRESSED records to pack the data into
    :param unfinished: leave data_size at 0 and the features off, as a killed recorder does
    :param threads: say in the header that this is the first file of a directory
    :param version: of the magic
    :param short: end the header before the bits of the features, and write none
    :param names: write the section of event types, as perf did before 3.11
    """
    header_size = SHORT_HEADER_SIZE if short else HEADER_SIZE
    attr_size = max((attr.size for attr in attrs), default=128)
    entry_size = attr_size + 16
    ids = b"".join(machine.words(attr.ids) for attr in attrs)
    attrs_at = header_size + len(ids)
    types = event_types(attrs, machine) if names else b""
    types_at = attrs_at + entry_size * len(attrs)
    data_at = types_at + len(types)
    table, cursor = b"", header_size
    for attr in attrs:
        table += padded(attr.encode(machine), attr_size)[:attr_size] + machine.pack(
            "QQ", cursor, 8 * len(attr.ids)
        )
        cursor += 8 * len(attr.ids)
    data = Encoder(attrs, machine).all(records)
    found = {} if short else features(machine, header, attrs, formats)
    if compressed:
        data = compressed_records(data, compressed, machine)
        found[COMPRESSED] = machine.pack("IIIII", compressed, 1, 1, 4, 528384)
    if threads:
        found[DIR_FORMAT] = machine.pack("Q", 1)
    found = dict(sorted(found.items()))
    top = magic(machine, version) + machine.pack("QQ", header_size, entry_size)
    top += machine.pack("QQ", attrs_at, entry_size * len(attrs))
    top += machine.pack("QQ", data_at, 0 if unfinished else len(data))
    top += machine.pack("QQ", types_at if types else 0, len(types))
    top += b"" if short else feature_bits(found, machine)
    tail = b"" if unfinished else feature_table(data_at + len(data), found, machine)
    return top + ids + table + types + data + tail


def write_directory(
    path: Path,
    attrs: Sequence[Attr],
    formats: Iterable[Format],
    records: Sequence[Sequence[Record | Sample]],
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
    for number, share in enumerate(records[1:]):
        (path / f"data.{number}").write_bytes(Encoder(attrs, machine).all(share))


SAMPLE = 9


# Descriptions of records to bytes.
@dataclass(frozen=True)
class Encoder:
    attrs: Sequence[Attr]
    machine: Machine = X86_64

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.attrs, self.machine)

    def encode(self, record: Record | Sample) -> bytes:
        layout = self.layout
        if isinstance(record, Sample):
            return self.framed(SAMPLE, layout.sample(record), CPU_MODES[record.mode])
        if isinstance(record, Bytes):
            return record.content
        body = record.body(layout)
        where = getattr(record, "where", None)
        if where is not None:
            body += layout.tail(where)
        framed = self.framed(record.type, body, record.misc)
        return framed + record.payload if isinstance(record, Auxtrace) else framed

    def framed(self, type_: int, body: bytes, misc: int = 0) -> bytes:
        return self.machine.pack("IHH", type_, misc, len(body) + 8) + body

    def all(self, records: Iterable[Record | Sample]) -> bytes:
        return b"".join(self.encode(record) for record in records)


# perf cuts its compressed output into records of at most this (PERF_SAMPLE_MAX_SIZE - 1).
RECORD_LIMIT = 65535 - 8


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


def wrapped(data: bytes, kind: str, members: int = 1) -> bytes:
    """
    A whole capture as gzip or zstd would pack it.

    :param kind: "gzip" or "zstd"
    :param members: how many gzip members, or zstd frames, one after another, to spread it over
    """
    size = max(1, -(-len(data) // members))
    parts = (data[at : at + size] for at in range(0, len(data) or 1, size))
    if kind == "gzip":
        # Without the time of day, or mutants would differ from run to run.
        return b"".join(gzip.compress(part, mtime=0) for part in parts)
    return b"".join(map(zstandard.ZstdCompressor().compress, parts))


HEADER_ATTR, HEADER_TRACING_DATA = 64, 66
# ChromeOS' old pipes had a record type per feature: this plus the feature, up to the last.
OLD_FEATURES, LAST_OLD_FEATURE = 66, 14


def attr_record(attr: Attr, machine: Machine) -> Other:
    # misc means nothing here, and perf 3.3 left in it what was on its stack.
    return Other(HEADER_ATTR, padded(attr.encode(machine), 8) + machine.words(attr.ids), 4140)


# Like AUXTRACE: header.size covers the size word and not what follows it.
def tracing_record(tracing: bytes, machine: Machine) -> bytes:
    data = padded(tracing, 8)
    return machine.pack("IHH", HEADER_TRACING_DATA, 0, 12) + machine.pack("I", len(data)) + data


def write_pipe(
    attrs: Sequence[Attr],
    formats: Iterable[Format],
    records: Records,
    header: Header = USUAL_HEADER,
    machine: Machine = X86_64,
    *,
    compressed: int = 0,
    old: bool = False,
    chrome: bool = False,
) -> bytes:
    """
    Bytes of a perf.data pipe, as ``perf record -o -`` writes it.

    :param compressed: 0, or the version (1, 2) of the COMPRESSED records to pack the data into
    :param old: as perf before 3.11: no features, names as records of their own
    :param chrome: as ChromeOS' perf of that time: features in front of everything, under numbers
        that mean other things elsewhere
    """
    encoder = Encoder(attrs, machine)
    found = features(machine, header, attrs, formats)
    tracing = found.pop(TRACING_DATA, None)
    if compressed:
        found[COMPRESSED] = machine.pack("IIIII", compressed, 1, 1, 4, 528384)
    result = magic(machine) + machine.pack("Q", 16)
    if chrome:
        first = {bit: data for bit, data in found.items() if bit <= LAST_OLD_FEATURE}
        result += encoder.all(Other(OLD_FEATURES + bit, data) for bit, data in first.items())
    result += encoder.all(attr_record(attr, machine) for attr in attrs)
    if old:
        result += encoder.all(EventType(attr.config, attr.name) for attr in attrs)
    else:
        result += encoder.all(HeaderFeature(bit, data) for bit, data in sorted(found.items()))
    if tracing is not None:
        result += tracing_record(tracing, machine)
    data = encoder.all(records)
    return result + (compressed_records(data, compressed, machine) if compressed else data)
