# A trace.dat that was cut, or whose sizes, counts and offsets are not what they should be: what is
# whole is kept, the rest is said, and nothing costs more than the file explains.

import zlib
from functools import cache
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis._native import Capture, CaptureError
from support.bounded import bounded
from support.host import Fresh, examples
from support.perfdata import MACHINES, X86_64, Recording, cpu, recording
from support.perfdata import happenings as h
from support.tracedat import Buffer, Contents, Dress, Packing, encoded
from support.tracedat import options as o

S = 1_000_000_000
PAGE, EACH = 4096, 2000
NONE = Packing("none")


@cache
def story(machine: str = "x86_64") -> Recording:
    lanes = [
        cpu(number, *(h.SoftirqRaise(S + 10 * step + number, 1) for step in range(EACH)))
        for number in range(2)
    ]
    return recording(*lanes, machine=MACHINES[machine])


@cache
def whole(version: int, machine: str = "x86_64", packing: Packing = NONE) -> bytes:
    return encoded(Dress(version).contents(story(machine)), version, packing)


def counted(data: bytes, folder: Path) -> tuple[int, list[str]]:
    path = folder / "trace.dat"
    path.write_bytes(data)
    scan = Capture(str(path)).scan()
    return scan["events"]["irq:softirq_raise"], scan["notes"]


# In version 6 each CPU's place stands before the data: a cut leaves whole sub-buffers. In version 7
# what says where everything is stands at the end, and only the names of sections behind it.
@examples(40)
@given(st.sampled_from([6, 7]), st.sampled_from(sorted(MACHINES)), st.floats(0, 1))
def test_whole_sub_buffers_before_the_cut_are_kept(
    fresh: Fresh, version: int, machine: str, share: float
) -> None:
    data = whole(version, machine)
    size = int(share * len(data))
    least = kept(machine, len(data) - size) if version == 6 else 0
    try:
        found, notes = counted(data[:size], fresh())
    except CaptureError:
        # Only where there is nothing to keep.
        assert least == 0
        return
    if version == 7:
        assert found == 2 * EACH
        return
    assert least <= found <= 2 * EACH
    assert (found == 2 * EACH) is (size == len(data))
    assert bool(notes) is (size < len(data))


# Records of 16 bytes behind each sub-buffer's header, where so many bytes at the end are missing.
def kept(machine: str, missing: int) -> int:
    each = (PAGE - 8 - MACHINES[machine].word) // 16
    pages = -(-EACH // each)
    left = max(0, 2 * pages - -(-missing // PAGE))
    full, rest = divmod(left, pages)
    return full * EACH + min(EACH, rest * each)


def test_a_cut_before_the_last_option_is_said_to_be_one(tmp_path: Path) -> None:
    data = whole(7)
    kinds = set()
    for size in range(len(data) - 600, len(data), 7):
        try:
            counted(data[:size], tmp_path)
        except CaptureError as refused:
            kinds.add(refused.kind)
    assert kinds == {"cut_short"}


# 255 records a sub-buffer; the other CPU's are whole.
@pytest.mark.parametrize("algorithm", ["zstd", "zlib"])
def test_a_damaged_chunk_costs_what_is_in_it_and_behind(tmp_path: Path, algorithm: str) -> None:
    data = whole(7, packing=Packing(algorithm, chunk_pages=1))
    for chunk in (0, 2, 7):
        bad = bytearray(data)
        at = place_of_first_cpu(data) + 4
        for _ in range(chunk):
            at += 8 + number(data, at, 4)
        size = number(data, at, 4)
        bad[at + 8 : at + 8 + size] = bytes(size)
        found, notes = counted(bytes(bad), tmp_path)
        assert EACH + 255 * chunk <= found < 2 * EACH
        assert any("CPU 0" in note for note in notes)


def number(data: bytes, at: int, width: int) -> int:
    return int.from_bytes(data[at : at + width], "little")


# Where an option's data begins: behind the magic are two texts, and then where the first option is.
def option_at(data: bytes, identity: int) -> int:
    first = data.index(b"\0", data.index(b"\0", 18) + 1) + 1
    at = number(data, first, 8) + 16
    while number(data, at, 2) != identity:
        at += 6 + number(data, at + 2, 4)
    return at + 6


# Behind BUFFER's offset, an empty name and "mono": page size, CPUs, then (CPU, offset, size).
SIZE, COUNT, FIRST = 14, 18, 22


def place_of_first_cpu(data: bytes) -> int:
    return number(data, option_at(data, o.BUFFER) + FIRST + 4, 8)


# (option, place in it, bytes, the new value)
BROKEN = {
    "a buffer outside the file": (o.BUFFER, 0, 8, 1 << 40),
    "sub-buffers of no size": (o.BUFFER, SIZE, 4, 0),
    "sub-buffers of odd size": (o.BUFFER, SIZE, 4, 4097),
    "sub-buffers of a byte": (o.BUFFER, SIZE, 4, 1),
    "sub-buffers of gibibytes": (o.BUFFER, SIZE, 4, 1 << 31),
    "thousands of millions of CPUs": (o.BUFFER, COUNT, 4, -1),
    "no CPU": (o.BUFFER, COUNT, 4, 0),
    "a CPU without end": (o.BUFFER, FIRST, 4, -1),
    "the same CPU twice": (o.BUFFER, FIRST, 4, 1),
    "data outside the file": (o.BUFFER, FIRST + 4, 8, 1 << 40),
    "data before the file": (o.BUFFER, FIRST + 4, 8, -4096),
    "data without end": (o.BUFFER, FIRST + 12, 8, -1),
    "data in the headers": (o.BUFFER, FIRST + 4, 8, 0),
    "two CPUs' data in one place": (o.BUFFER, FIRST + 4, 8, 2 * 4096),
    "options in the headers": (o.DONE, 0, 8, 0x1000),
    "no header": (o.HEADER_INFO, 0, 8, 1 << 40),
    "formats in the header's place": (o.EVENT_FORMATS, 0, 8, 32),
}


def read_or_refused(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    said = bounded(path, "capture().all_events(); capture().scan()", seconds=5, megabytes=256)
    assert said == "read" or said.startswith("CaptureError")


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_descriptions_are_read_or_refused(tmp_path: Path, kind: str) -> None:
    option, place, width, value = BROKEN[kind]
    data = bytearray(whole(7))
    at = option_at(bytes(data), option) + place
    data[at : at + width] = (value % 2 ** (8 * width)).to_bytes(width, "little")
    read_or_refused(tmp_path / "broken", bytes(data))


# Each options section says where the next one is; here, that it is the next one itself.
def test_options_in_a_circle_end(tmp_path: Path) -> None:
    data = whole(7)
    at, first = option_at(data, o.DONE), data.index(b"none\0\0") + 6
    read_or_refused(tmp_path / "circle", data[:at] + data[first : first + 8] + data[at + 8 :])


# Chunks that claim to be more than there are, or larger, or smaller.
@pytest.mark.parametrize("count", [0, 2, 1 << 31, (1 << 32) - 1])
def test_impossible_chunks(tmp_path: Path, count: int) -> None:
    for sizes in ((0, 0), (1 << 31, 4096), (100, 1 << 31)):
        data = bytearray(whole(7, packing=Packing()))
        place = place_of_first_cpu(bytes(data))
        data[place : place + 12] = X86_64.pack("III", count, *sizes)
        read_or_refused(tmp_path / "chunks", bytes(data))


# Kilobytes that unpack to gigabytes: a section, and a CPU's chunk, at the file's end, where an
# option points now.
@pytest.mark.parametrize("algorithm", ["zstd", "zlib"])
@pytest.mark.parametrize("claimed", [1 << 16, (1 << 32) - 1])
def test_bombs_are_refused(tmp_path: Path, algorithm: str, claimed: int) -> None:
    bomb = bomb_of(algorithm)
    block = X86_64.pack("II", len(bomb), claimed) + bomb
    plain = whole(7, packing=Packing(algorithm, headers=False))
    end = len(plain) + -len(plain) % PAGE
    for target in (o.EVENT_FORMATS, o.BUFFER):
        data, at = bytearray(plain.ljust(end, b"\0")), option_at(plain, target)
        if target == o.BUFFER:
            data[at + FIRST + 4 : at + FIRST + 20] = X86_64.pack("QQ", end, 4 + len(block))
            data += X86_64.pack("I", 1) + block
        else:
            data[at : at + 8] = X86_64.pack("Q", end)
            data += X86_64.pack("HHIQ", target, 1, 0, len(block)) + block
        read_or_refused(tmp_path / "bomb", bytes(data))


@cache
def bomb_of(algorithm: str) -> bytes:
    if algorithm == "zlib":
        return zlib.compress(bytes(1 << 28), 1)
    packer = zstandard.ZstdCompressor(level=1, write_content_size=False).compressobj()
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(1024)) + packer.flush()


# A file that ends where its data does, and one of no data at all.
def test_no_events(tmp_path: Path) -> None:
    for rings in ({}, {0: b"", 1: b""}):
        one = Contents((Buffer("", "mono", rings),), story().formats)
        assert counted(encoded(one), tmp_path)[0] == 0
