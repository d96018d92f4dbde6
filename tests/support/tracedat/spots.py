# Where in a trace.dat's bytes the interesting ones are: what mutations aim at. Believes everything,
# since what it reads is as the writer left it.

import struct
from collections.abc import Iterator
from dataclasses import dataclass

MAGIC = b"\x17\x08\x44tracing"
Spot = tuple[int, int]
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


def spots(data: bytes) -> tuple[str, list[Spot], list[Spot]]:
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


def headers(one: Parser, fields: list[Spot]) -> None:
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
    headers(one, fields)
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
