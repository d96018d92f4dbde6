# How perf stores records: in a file with a table of contents, or in a directory with one file of
# records per recording thread. Pipes are in pipe.py.

from collections.abc import Iterable, Sequence
from pathlib import Path

from .attr import Attr
from .encoder import Encoder
from .features import COMPRESSED, DIR_FORMAT, USUAL_HEADER, Header, features
from .formats import Format
from .machine import X86_64, Machine, padded
from .packing import compressed_records
from .records import Record
from .sample import Sample

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
