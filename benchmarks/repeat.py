# A recorded perf.data written N times over in one file, each copy later by the recording's length:
# `python -m benchmarks.repeat CAPTURE TIMES OUT`. Memory does not grow with either.
#
#   copy     | 1: as it was          | 2: + length           | 3: + 2 x length       |
#   without                          | what the recorder found there at its start, which has no time
#
# Shifted: a sample's time, the trailer (sample_id_all) of every other record, and the time in the
# body of FORK, EXIT, THROTTLE and UNTHROTTLE. Not shifted, since perf does not know them: times
# within the payload of a tracepoint (hrtimer's `now`). Compressed records (zstd) are unpacked
# first. Refused: pipes, folders, AUX areas, another byte order, events that have their time in
# different places.

import argparse
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import zstandard

Words = npt.NDArray[np.uint64]
_BLOCK = 16 << 20
# perf_event_attr::sample_type
_IP, _TID, _TIME, _ID, _CPU, _STREAM_ID, _IDENTIFIER = 1, 2, 4, 64, 128, 512, 1 << 16
_SAMPLE_ID_ALL = 1 << 18
# Features of the header, by bit.
_SAMPLE_TIME, _DIR_FORMAT, _COMPRESSED = 21, 24, 27
# Records: those with a time in their body, and in which word it is.
_SAMPLE, _FINISHED_ROUND, _USER, _PACKED = 9, 68, 64, 81
_IN_BODY = {4: 3, 7: 3, 5: 1, 6: 1}
_REFUSED = {11: "AUX", 70: "AUXTRACE_INFO", 71: "AUXTRACE", 83: "COMPRESSED2"}
# Between two copies.
_PAUSE_NS = 1_000


class Layout(NamedTuple):
    """Where a file's data lies, and where a record has its time, in words of 8 bytes."""

    data: tuple[int, int]
    features: list[tuple[int, int, int]]
    in_sample: int
    from_end: int | None


class Block(NamedTuple):
    """Whole records: their words, where times are among these, and which stay in the first copy."""

    words: Words
    times: npt.NDArray[np.int64]
    is_first: npt.NDArray[np.bool_]


def layout(file: BinaryIO) -> Layout:
    head = file.read(104)
    if len(head) < 104 or head[:8] != b"PERFILE2":
        raise SystemExit("not a perf.data of this machine's byte order")
    header_size, attr_size, attrs_at, attrs_size, at, size = struct.unpack_from("<6Q", head, 8)
    if header_size != 104:
        raise SystemExit("a pipe: record it into a file")
    flags = int.from_bytes(head[72:104], "little")
    if flags >> _DIR_FORMAT & 1:
        raise SystemExit("a folder: record it without --threads")
    places = set()
    for attr in range(attrs_at, attrs_at + attrs_size, attr_size):
        file.seek(attr + 24)
        kind, _, bits = struct.unpack("<3Q", file.read(24))
        before = [bit for bit in (_IDENTIFIER, _IP, _TID) if kind & bit]
        behind = [bit for bit in (_ID, _STREAM_ID, _CPU, _IDENTIFIER) if kind & bit]
        has_trailer = bool(bits & _SAMPLE_ID_ALL)
        places.add((bool(kind & _TIME), 1 + len(before), 1 + len(behind) if has_trailer else None))
    if len(places) != 1:
        raise SystemExit("events that have their time in different places")
    has_time, in_sample, from_end = places.pop()
    if not has_time:
        raise SystemExit("events without times")
    file.seek(at + size)
    bits = [bit for bit in range(256) if flags >> bit & 1]
    features = [(bit, *struct.unpack("<2Q", file.read(16))) for bit in bits]
    return Layout((at, size), features, in_sample, from_end)


def blocks(file: BinaryIO, where: Layout) -> Iterator[Block]:
    at, end = where.data[0], sum(where.data)
    while at < end:
        file.seek(at)
        data = file.read(min(_BLOCK, end - at))
        words = np.frombuffer(data[: len(data) // 8 * 8], "<u8")
        block = _block(words, where)
        if not len(block.words):
            raise SystemExit(f"the record at byte {at} is cut short")
        yield block
        at += 8 * len(block.words)


def _block(words: Words, where: Layout) -> Block:
    # As plain numbers: a loop over records takes each once.
    heads, place, times, first = memoryview(words), 0, [], []
    while place < len(heads):
        head = heads[place]
        kind, size = head & 0xFFFFFFFF, head >> 51
        if place + size > len(heads):
            break
        if kind in _REFUSED or not size:
            raise SystemExit(f"cannot be repeated: {_REFUSED.get(kind, 'a record without length')}")
        has_time = kind == _FINISHED_ROUND
        if kind == _SAMPLE:
            times.append(place + where.in_sample)
            has_time = True
        elif kind < _USER and where.from_end is not None:
            trailer = place + size - where.from_end
            # What perf found at its start and tells as if it had happened has no time, or the last.
            has_time = 0 < heads[trailer] < 1 << 63
            if has_time:
                times.append(trailer)
                if kind in _IN_BODY:
                    times.append(place + _IN_BODY[kind])
        if not has_time:
            first.append((place, place + size))
        place += size
    is_first = np.zeros(place, bool)
    for begin, end in first:
        is_first[begin:end] = True
    return Block(words[:place], np.array(times, np.int64), is_first)


@contextmanager
def plain(path: Path) -> Iterator[BinaryIO]:
    """The recording; one with compressed records as another file, as perf writes it without -z."""
    with path.open("rb") as file:
        head = file.read(104)
        file.seek(0)
        if head[:8] != b"PERFILE2" or not head[72 + _COMPRESSED // 8] >> _COMPRESSED % 8 & 1:
            yield file
            return
        with TemporaryFile() as out:
            _unpack(file, head, out)
            out.seek(0)
            yield out


def _unpack(file: BinaryIO, head: bytes, out: IO[bytes]) -> None:
    flags = int.from_bytes(head[72:104], "little")
    at, size = struct.unpack_from("<2Q", head, 40)
    bits = [bit for bit in range(256) if flags >> bit & 1]
    out.write(file.read(at))
    # One stream of zstd runs through all records, or each begins another.
    stream = zstandard.ZstdDecompressor().decompressobj()
    while file.tell() < at + size:
        record = file.read(8)
        kind, _, length = struct.unpack("<IHH", record)
        body = file.read(length - 8)
        if kind != _PACKED:
            out.write(record + body)
            continue
        while body:
            out.write(stream.decompress(body))
            body = stream.unused_data
            if stream.eof:
                stream = zstandard.ZstdDecompressor().decompressobj()
    grown = out.tell() - at - size
    sections = {bit: struct.unpack("<2Q", file.read(16)) for bit in bits}
    del sections[_COMPRESSED]
    # The list of sections is shorter by the one that says how records are compressed.
    table = b"".join(struct.pack("<2Q", a + grown - 16, n) for a, n in sections.values())
    out.write(table + file.read())
    out.seek(48)
    out.write(struct.pack("<Q", size + grown))
    out.seek(72)
    out.write((flags & ~(1 << _COMPRESSED)).to_bytes(32, "little"))


def repeat(source: Path, times: int, target: Path) -> int:
    """
    Write the copies.

    :returns: by how much each is later than the one before, in ns
    """
    with plain(source) as file, target.open("wb") as out:
        where = layout(file)
        earliest, latest, once = 1 << 63, 0, 0
        for block in blocks(file, where):
            found = block.words[block.times]
            if len(found):
                earliest, latest = min(earliest, int(found.min())), max(latest, int(found.max()))
            once += 8 * int(block.is_first.sum())
        length = latest - earliest + _PAUSE_NS
        (at, size), later = where.data, where.data[1] - once
        file.seek(0)
        out.write(file.read(at))
        # A block is taken apart once, and written into every copy at its place.
        begin = [at, *(at + size + later * copy for copy in range(times))]
        for block in blocks(file, where):
            kept, words = ~block.is_first, block.words.copy()
            for copy in range(times):
                out.seek(begin[copy])
                out.write((words if copy == 0 else words[kept]).tobytes())
                begin[copy] = out.tell()
                words[block.times] += np.uint64(length)
        _finish(file, out, where, size + later * (times - 1), length * (times - 1))
    return length


# The sections of features stand behind the data, after a list of where they are.
def _finish(file: BinaryIO, out: BinaryIO, where: Layout, size: int, later_ns: int) -> None:
    at, before = where.data
    out.seek(48)
    out.write(struct.pack("<Q", size))
    out.seek(at + size)
    for _, offset, length in where.features:
        out.write(struct.pack("<2Q", offset + size - before, length))
    for bit, offset, length in where.features:
        file.seek(offset)
        section = file.read(length)
        if bit == _SAMPLE_TIME:
            first, last = struct.unpack("<2Q", section)
            section = struct.pack("<2Q", first, last + later_ns)
        out.seek(offset + size - before)
        out.write(section)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.repeat")
    parser.add_argument("capture", type=Path)
    parser.add_argument("times", type=int)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    length = repeat(given.capture, max(given.times, 1), given.out)
    print(f"{given.out}: {given.times} times {length / 1e9:.3f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
