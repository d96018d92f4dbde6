# Records that stop the walk over them, packed or not, and packed ones that are more than they look.

import struct
from pathlib import Path

import pytest
import zstandard

from support.bounded import LINES, attrs, bounded, exit_sample
from support.perfdata import MACHINES, Encoder, Machine, write_pipe
from support.perfdata.packing import RECORD_LIMIT

COMPRESSED, TRACING_DATA = 81, 66
TWO = {name: MACHINES[name] for name in ("x86_64", "s390x")}
machines = pytest.mark.parametrize("machine", TWO.values(), ids=TWO)


def record(machine: Machine, kind: int, body: bytes) -> bytes:
    return machine.pack("IHH", kind, 0, 8 + len(body)) + body


# Each of these may be followed by something that is no record.
@machines
def test_many_records_that_stop_the_walk(tmp_path: Path, machine: Machine) -> None:
    one = Encoder(attrs(LINES), machine).encode(exit_sample())
    head = write_pipe(attrs(LINES), LINES, [], machine=machine)
    path = tmp_path / "stops"
    path.write_bytes(head + one + record(machine, TRACING_DATA, bytes(4)) * 500_000)
    bounded(path, "capture().scan()", megabytes=64)


# A record of 64 KiB waits for its last bytes while packed records come that hold nothing.
@machines
def test_packed_records_with_nothing_in_them(tmp_path: Path, machine: Machine) -> None:
    packer = zstandard.ZstdCompressor().compressobj()
    begun = machine.pack("IHH", 200, 0, 65528) + bytes(range(256)) * 255
    packed = packer.compress(begun) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    # zstd's raw block of no bytes.
    nothing = record(machine, COMPRESSED, bytes(3))
    path = tmp_path / "nothing"
    head = write_pipe(attrs(LINES), LINES, [], machine=machine)
    path.write_bytes(head + record(machine, COMPRESSED, packed) + nothing * 300_000)
    bounded(path, "capture().scan()", megabytes=64)


# Gigabytes of samples in some hundred KB.
def test_packed_records_that_unpack_to_very_much(tmp_path: Path) -> None:
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    some = Encoder(attrs(LINES)).encode(exit_sample()) * (1 << 18)
    packed = b"".join(packer.compress(some) for _ in range((3 << 30) // len(some)))
    packed += packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    whole = write_pipe(attrs(LINES), LINES, [])
    for at in range(0, len(packed), RECORD_LIMIT):
        piece = packed[at : at + RECORD_LIMIT]
        whole += struct.pack("<IHH", COMPRESSED, 0, 8 + len(piece)) + piece
    path = tmp_path / "bomb"
    path.write_bytes(whole)
    bounded(path, "print(capture().all_events())", seconds=5)
