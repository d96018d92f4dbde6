# Where in a capture's bytes the interesting ones are: what mutations aim at. Reads as little as
# that takes, and believes everything, since what it reads is as the writer left it.

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

MAGIC = b"\x17\x08\x44tracing"
Spot = tuple[int, int]
HEADER_WORDS = (8, 16, 24, 32, 40, 48, 56, 64)
# Of an attr: type, size, config, period, sample_type, read_format, flags, branch_sample_type,
# sample_regs_user, sample_stack_user, clockid, sample_regs_intr, as (offset, bytes).
ATTR_FIELDS = (
    *((0, 4), (4, 4), (8, 8), (16, 8), (24, 8), (32, 8), (40, 8)),
    *((72, 8), (80, 8), (88, 4), (92, 4), (96, 8)),
)
HEADER_ATTR, TRACING_DATA, AUXTRACE = 64, 66, 71


@dataclass(frozen=True)
class Spots:
    order: str
    # (offset, bytes) of numbers that say how long something is, where it is or what it is.
    fields: tuple[tuple[int, int], ...]
    # (offset, bytes) of records.
    records: tuple[tuple[int, int], ...]


@lru_cache(maxsize=256)
def spots(data: bytes) -> Spots:
    if data.startswith(MAGIC):
        order, numbers, pages = trace_dat_spots(data)
        return Spots(order, tuple(numbers), tuple(pages))
    order = ">" if data[:8] == b"2ELIFREP" or (data[:8] == b"PERFFILE" and not data[8]) else "<"
    if data[:7] != b"PERFILE" and data[:8] not in (b"PERFFILE", b"2ELIFREP"):
        records = tuple(walk(data, 0, len(data), order))
        return Spots(order, tuple(record_fields(data, records, order)), records)
    word = struct.Struct(order + "Q")
    header, entry, attrs_at, attrs_size, data_at, data_size = (
        word.unpack_from(data, at)[0] if at + 8 <= len(data) else 0 for at in range(8, 56, 8)
    )
    if header == 16:
        records = tuple(walk(data, 16, len(data), order))
        return Spots(order, ((8, 8), *record_fields(data, records, order)), records)
    fields = [(at, 8) for at in HEADER_WORDS] + [(at, 1) for at in range(72, header)]
    for at in range(attrs_at, attrs_at + attrs_size, entry):
        fields += [
            (at + offset, size) for offset, size in ATTR_FIELDS if offset + size <= entry - 16
        ]
        fields += [(at + entry - 16, 8), (at + entry - 8, 8)]
    data_end = data_at + data_size if data_size else len(data)
    records = tuple(walk(data, data_at, data_end, order))
    fields += record_fields(data, records, order)
    fields += feature_fields(data, data_end, order)
    return Spots(order, tuple(one for one in fields if sum(one) <= len(data)), records)


# Each feature's place and size, and in its section what is likely the length of its first part.
def feature_fields(data: bytes, table: int, order: str) -> Iterator[tuple[int, int]]:
    at, end = table, len(data)
    while at + 16 <= end:
        section, size = struct.unpack_from(order + "QQ", data, at)
        end = min(end, section)
        yield from ((at, 8), (at + 8, 8))
        yield from ((place, 4) for place in range(section, section + min(size, 64), 4))
        at += 16


def walk(data: bytes, at: int, end: int, order: str) -> Iterator[tuple[int, int]]:
    while at + 8 <= end:
        kind, _, size = struct.unpack_from(order + "IHH", data, at)
        if kind == TRACING_DATA and size == 12:
            size += struct.unpack_from(order + "I", data, at + 8)[0]
        elif kind == AUXTRACE and size == 48:
            size += struct.unpack_from(order + "Q", data, at + 8)[0]
        if size < 8 or at + size > end:
            break
        yield at, size
        at += size


def record_fields(
    data: bytes, records: tuple[tuple[int, int], ...], order: str
) -> Iterator[tuple[int, int]]:
    for at, size in records:
        yield from ((at, 4), (at + 4, 2), (at + 6, 2))
        if struct.unpack_from(order + "I", data, at)[0] == HEADER_ATTR:
            yield from ((at + 8 + offset, width) for offset, width in ATTR_FIELDS)
        elif size > 16:
            # Counts of call chains, branches, registers and raw bytes stand at any of these.
            yield from ((place, 8) for place in range(at + 8, at + min(size, 400) - 7, 8))
            yield from ((place, 4) for place in range(at + 8, at + min(size, 400) - 3, 4))


# --- Of a trace.dat.

HEADERS, BUFFER, OPTIONS = range(16, 22), 3, 0
# What an option's bytes are read as: offsets, counts, numbers of CPUs, texts.
WIDTHS = (8, 4, 2)


@dataclass
class Parser:
    data: bytes
    order: str = "<"
    at: int = 0

    def read(self, kind: str) -> int:
        value: int = struct.unpack_from(self.order + kind, self.data, self.at)[0]
        self.at += struct.calcsize(kind)
        return value

    def text(self) -> str:
        end = self.data.index(0, self.at)
        found = self.data[self.at : end].decode()
        self.at = end + 1
        return found


def trace_dat_spots(data: bytes) -> tuple[str, list[Spot], list[Spot]]:
    """
    :return: byte order; places and widths of numbers; places and sizes of pages and options
    """
    one = Parser(data, at=len(MAGIC))
    version = one.text()
    fields: list[Spot] = [(len(MAGIC), 1), (one.at, 1), (one.at + 1, 1), (one.at + 2, 4)]
    one.order = ">" if data[one.at] else "<"
    one.at += 2
    page = one.read("I")
    read = version_6 if version == "6" else version_7
    records = list(read(one, page, fields))
    return one.order, fields, records


# A number, taken down.
def number(one: Parser, kind: str, fields: list[Spot]) -> int:
    fields.append((one.at, struct.calcsize(kind)))
    return one.read(kind)


def sized(one: Parser, kind: str, fields: list[Spot]) -> None:
    size = number(one, kind, fields)
    # The text of a format: its own numbers are digits.
    fields += ((place, 1) for place in range(one.at, one.at + min(size, 400), 9))
    one.at += size


def trace_dat_headers(one: Parser, fields: list[Spot]) -> None:
    one.at += 12
    sized(one, "Q", fields)
    one.at += 13
    sized(one, "Q", fields)
    for _ in range(number(one, "I", fields)):
        sized(one, "Q", fields)
    for _ in range(number(one, "I", fields)):
        one.text()
        for _ in range(number(one, "I", fields)):
            sized(one, "Q", fields)
    sized(one, "I", fields)
    sized(one, "I", fields)
    sized(one, "Q", fields)


def inside(start: int, size: int, fields: list[Spot]) -> None:
    for width in WIDTHS:
        fields += ((place, width) for place in range(start, start + size - width + 1, width))


def version_6(one: Parser, page: int, fields: list[Spot]) -> Iterator[Spot]:
    trace_dat_headers(one, fields)
    cpus = number(one, "I", fields)
    one.at += 10
    tables = []
    while option := number(one, "H", fields):
        start = one.at - 2
        size = number(one, "I", fields)
        inside(one.at, size, fields)
        if option == BUFFER:
            tables.append(struct.unpack_from(one.order + "Q", one.data, one.at)[0])
        one.at += size
        yield start, one.at - start
    for table in (one.at, *tables):
        one.at = table + 10
        for _ in range(cpus):
            start, size = number(one, "Q", fields), number(one, "Q", fields)
            yield from pages(one, start, size, page, fields)
        number(one, "Q", fields)


def pages(one: Parser, start: int, size: int, page: int, fields: list[Spot]) -> Iterator[Spot]:
    for at in range(start, start + size, page):
        fields += ((at, 8), (at + 8, 8), (at + 8, 4))
        fields += ((place, 4) for place in range(at + 12, min(at + 400, len(one.data)), 4))
        yield at, page


def version_7(one: Parser, page: int, fields: list[Spot]) -> Iterator[Spot]:
    one.text()
    one.text()
    number(one, "Q", fields)
    while one.at + 16 <= len(one.data):
        start = one.at
        section, flags = number(one, "H", fields), number(one, "H", fields)
        number(one, "I", fields)
        size = number(one, "Q", fields)
        end = one.at + size
        yield start, end - start
        if flags:
            fields += ((one.at, 4), (one.at + 4, 4))
        elif section == OPTIONS:
            inside(one.at, size, fields)
        elif section in HEADERS:
            inside(one.at, min(size, 300), fields)
        elif section == BUFFER:
            first = one.at + -one.at % page
            yield from pages(one, first, end - first, page, fields)
        one.at = end
