# A trace.dat that was cut, or whose sizes, counts and offsets are not what they should be: what is
# whole is kept, the rest is said, and nothing costs more than the file explains.

import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis._native import Capture, CaptureError
from support.bounded import bounded
from support.examples import examples
from support.host import Fresh
from support.native_tables import rows
from support.perfdata import MACHINES, X86_64, Recording, cpu, recording
from support.perfdata import happenings as h
from support.tracedat import (
    Buffer,
    Contents,
    Dress,
    Packing,
    Style,
    version6,
    version7,
    write_trace_dat,
)
from support.tracedat import options as o
from support.tracedat.spots import spots

S = 1_000_000_000
PAGE = 4096
NONE = Packing("none")


@cache
def long_story() -> Recording:
    lanes = [
        cpu(number, *(h.SoftirqRaise(S + 10 * step + number, 1) for step in range(2000)))
        for number in range(2)
    ]
    return recording(*lanes)


@cache
def long_contents() -> Contents:
    return Dress().contents(long_story())


@cache
def long_file(algorithm: str) -> bytes:
    return version7.write(long_contents(), Packing(algorithm))


@cache
def whole(version: int, machine: str) -> bytes:
    dress = Dress(version, NONE)
    told = recording(*long_story().cpus, machine=MACHINES[machine])
    contents = dress.contents(told)
    return version7.write(contents, NONE) if version == 7 else written_6(told)


def written_6(told: Recording) -> bytes:
    return version6.write(Dress(6).contents(told))


def counted(data: bytes, folder: Path) -> tuple[int, list[str]]:
    path = folder / "trace.dat"
    path.write_bytes(data)
    scan = Capture(str(path)).scan()
    return scan["events"]["irq:softirq_raise"], scan["notes"]


# In version 6 each CPU's place stands before the data: a cut leaves whole sub-buffers.
@examples(30)
@given(st.sampled_from(sorted(MACHINES)), st.floats(0, 1))
def test_whole_sub_buffers_before_the_cut_are_kept(
    fresh: Fresh, machine: str, share: float
) -> None:
    data = whole(6, machine)
    size = int(share * len(data))
    folder = fresh()
    total, notes = counted(data, folder)
    assert (total, notes) == (4000, [])
    try:
        found, notes = counted(data[:size], folder)
    except CaptureError as refused:
        # Only where there is nothing to keep.
        if "\n" in str(refused) or kept(data, machine, size):
            raise
        return
    assert found >= kept(data, machine, size)
    assert found < total or size == len(data)
    assert bool(notes) is (size < len(data))


@cache
def pages_size(machine: str) -> int:
    told = recording(*long_story().cpus, machine=MACHINES[machine])
    return sum(len(pages) for pages in Dress(6).contents(told).top.rings.values())


# Records of 16 bytes behind each sub-buffer's header.
def kept(data: bytes, machine: str, size: int) -> int:
    each = (PAGE - 8 - MACHINES[machine].word) // 16
    start, left, total = len(data) - pages_size(machine), [2000, 2000], 0
    of_one = -(-2000 // each)
    for page in range(max(0, size - start) // PAGE):
        lane = page // of_one
        total += min(each, left[lane])
        left[lane] -= min(each, left[lane])
    return total


# In version 7 what says where everything is stands at the end.
@examples(25)
@given(st.sampled_from(sorted(MACHINES)), st.floats(0, 1))
def test_version_7_is_read_or_refused(fresh: Fresh, machine: str, share: float) -> None:
    data = whole(7, machine)
    size = int(share * len(data))
    try:
        found, _ = counted(data[:size], fresh())
    except CaptureError as refused:
        if "\n" in str(refused):
            raise
        return
    # Only the names of sections are behind it.
    assert found == 4000


def test_a_cut_before_the_last_option_is_said_to_be_one(tmp_path: Path) -> None:
    data = whole(7, "x86_64")
    said = set()
    for size in range(len(data) - 600, len(data), 7):
        try:
            counted(data[:size], tmp_path)
        except CaptureError as refused:
            said.add(str(refused).partition(":")[0])
    assert said == {"trace.dat cut short"}


def test_a_damaged_chunk_costs_what_is_in_it_and_behind(tmp_path: Path) -> None:
    for algorithm in ("zstd", "zlib"):
        for chunk in (0, 2, 7):
            packing = Packing(algorithm, chunk_pages=1)
            path = write_trace_dat(long_story(), tmp_path / "trace.dat", Dress(packing=packing))
            data = bytearray(path.read_bytes())
            at = chunks_of(bytes(data))[chunk]
            size = int.from_bytes(data[at : at + 4], "little")
            data[at + 8 : at + 8 + size] = bytes(size)
            found, notes = counted(bytes(data), tmp_path)
            # 255 records a sub-buffer; the other CPU's 2000 are whole.
            assert 2000 + 255 * chunk <= found < 4000
            assert any("CPU 0" in note for note in notes)


# Where the chunks of CPU 0 begin.
def chunks_of(data: bytes) -> list[int]:
    at = PAGE * -(-data.index(b"buffer") // PAGE) if b"buffer" in data[:PAGE] else PAGE
    count = int.from_bytes(data[at : at + 4], "little")
    found, at = [], at + 4
    for _ in range(count):
        found.append(at)
        at += 8 + int.from_bytes(data[at : at + 4], "little")
    return found


# A number in its place: (what it is, the new value).
def changed(identity: int, place: int, width: int, value: int) -> Callable[[], bytes]:
    def make() -> bytes:
        data = bytearray(long_file("none"))
        at = option_at(bytes(data), identity) + place
        data[at : at + width] = (value % 2 ** (8 * width)).to_bytes(width, "little")
        return bytes(data)

    return make


# Where an option's data begins.
def option_at(data: bytes, identity: int) -> int:
    start = data.index(b"zstd") if data[18:22] == b"zstd" else 18
    first = data.index(b"\0", data.index(b"\0", start) + 1) + 1
    at = int.from_bytes(data[first : first + 8], "little") + 16
    while int.from_bytes(data[at : at + 2], "little") != identity:
        at += 6 + int.from_bytes(data[at + 2 : at + 6], "little")
    return at + 6


# Behind BUFFER's offset, an empty name and "mono": page size, CPUs, then (CPU, offset, size).
SIZE, COUNT, FIRST = 14, 18, 22
BROKEN = {
    "a buffer outside the file": changed(o.BUFFER, 0, 8, 1 << 40),
    "sub-buffers of no size": changed(o.BUFFER, SIZE, 4, 0),
    "sub-buffers of odd size": changed(o.BUFFER, SIZE, 4, 4097),
    "sub-buffers of a byte": changed(o.BUFFER, SIZE, 4, 1),
    "sub-buffers of gibibytes": changed(o.BUFFER, SIZE, 4, 1 << 31),
    "thousands of millions of CPUs": changed(o.BUFFER, COUNT, 4, -1),
    "no CPU": changed(o.BUFFER, COUNT, 4, 0),
    "a CPU without end": changed(o.BUFFER, FIRST, 4, -1),
    "the same CPU twice": changed(o.BUFFER, FIRST, 4, 1),
    "data outside the file": changed(o.BUFFER, FIRST + 4, 8, 1 << 40),
    "data before the file": changed(o.BUFFER, FIRST + 4, 8, -4096),
    "data without end": changed(o.BUFFER, FIRST + 12, 8, -1),
    "data in the headers": changed(o.BUFFER, FIRST + 4, 8, 0),
    "two CPUs' data in one place": changed(o.BUFFER, FIRST + 4, 8, 2 * 4096),
    "options in a circle": changed(o.DONE, 0, 8, 0x1000),
    "no header": changed(o.HEADER_INFO, 0, 8, 1 << 40),
    "formats in the header's place": changed(o.EVENT_FORMATS, 0, 8, 32),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_descriptions_are_read_or_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "broken"
    path.write_bytes(BROKEN[kind]())
    said = bounded(path, "capture().all_events()", megabytes=256)
    assert said == "read" or said.startswith("CaptureError")


# Each options section says where the next one is; here, that it is the next one itself.
def test_options_in_a_circle_end(tmp_path: Path) -> None:
    for packed in (False, True):
        contents = long_contents()
        data = version7.write(contents, Packing("none"))
        at = option_at(data, o.DONE)
        first = data.index(b"none\0\0") + 6
        start = data[first : first + 8]
        path = tmp_path / "circle"
        path.write_bytes(data[:at] + start + data[at + 8 :])
        assert "read" in bounded(path, "capture().scan()", megabytes=256) or packed


# Kilobytes that unpack to gigabytes: a section, and a CPU's chunk.
@pytest.mark.parametrize("algorithm", ["zstd", "zlib"])
@pytest.mark.parametrize("claimed", [1 << 16, (1 << 32) - 1])
def test_bombs_are_refused(tmp_path: Path, algorithm: str, claimed: int) -> None:
    bomb = bomb_of(algorithm)
    block = X86_64.pack("II", len(bomb), claimed) + bomb
    contents = long_contents()
    plain = version7.write(contents, Packing(algorithm, headers=False))
    path = tmp_path / "bomb"
    for target in (o.EVENT_FORMATS, o.BUFFER):
        path.write_bytes(with_bomb(plain, target, block))
        said = bounded(path, "capture().all_events()", seconds=5, megabytes=256)
        assert said == "read" or said.startswith("CaptureError")


@cache
def bomb_of(algorithm: str) -> bytes:
    if algorithm == "zlib":
        return zlib.compress(bytes(1 << 28), 1)
    packer = zstandard.ZstdCompressor(level=1, write_content_size=False).compressobj()
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(1024)) + packer.flush()


# The block at the file's end, where an option points now.
def with_bomb(plain: bytes, target: int, block: bytes) -> bytes:
    data = bytearray(plain)
    at = option_at(plain, target)
    end = len(data) + -len(data) % PAGE
    data += bytes(end - len(data))
    if target == o.BUFFER:
        data[at + FIRST + 4 : at + FIRST + 20] = X86_64.pack("QQ", end, 4 + len(block))
        return bytes(data + X86_64.pack("I", 1) + block)
    data[at : at + 8] = X86_64.pack("Q", end)
    return bytes(data + X86_64.pack("HHIQ", target, 1, 0, len(block)) + block)


# Chunks that claim to be more than there are, or larger, or smaller.
def test_impossible_chunks(tmp_path: Path) -> None:
    for count in (0, 2, 1 << 31, (1 << 32) - 1):
        for sizes in ((0, 0), (1, 4096), (1 << 31, 4096), (100, 0), (100, 1 << 31)):
            path = tmp_path / "trace.dat"
            data = bytearray(long_file("zstd"))
            at = option_at(bytes(data), o.BUFFER) + FIRST + 4
            place = int.from_bytes(data[at : at + 8], "little")
            data[place : place + 4] = count.to_bytes(4, "little")
            data[place + 4 : place + 12] = X86_64.pack("II", *sizes)
            path.write_bytes(bytes(data))
            said = bounded(path, "capture().all_events()", megabytes=256)
            assert said == "read" or said.startswith("CaptureError")


# A file that ends where its data does, and one of no data at all.
def test_no_events(tmp_path: Path) -> None:
    contents = long_contents()
    path = tmp_path / "empty"
    nothing: list[Buffer] = [Buffer("", "mono", {}), Buffer("", "mono", {0: b"", 1: b""})]
    for one in nothing:
        path.write_bytes(version7.write(type(contents)((one,), contents.formats)))
        capture = Capture(str(path))
        assert sum(capture.scan()["events"].values()) == 0
        assert rows(capture.events("irq:softirq_raise")) == []


# What mutations aim at is there: the numbers that say how much of what stands where.
def test_spots_are_in_the_file(tmp_path: Path) -> None:
    for version, style in ((6, Style()), (7, Style())):
        path = write_trace_dat(long_story(), tmp_path / "t", Dress(version, NONE, style))
        data = path.read_bytes()
        order, fields, records = spots(data)
        assert order == "<"
        assert len(fields) > 1000
        assert len(records) > 16
        found: list[Any] = [*fields, *records]
        assert all(at >= 0 and at + size <= len(data) for at, size in found)
