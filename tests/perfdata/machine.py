# The machine that a described recording pretends to come from: every writer in this package packs
# through it, so that another byte order or word size is one argument and not another writer.

import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    order: str = "<"
    word: int = 8

    def pack(self, layout: str, *values: int | bytes) -> bytes:
        return struct.pack(self.order + layout, *values)

    def integer(self, value: int, size: int) -> bytes:
        # Truncates like a C assignment, so a description may give -1 for an unsigned field.
        name = "little" if self.order == "<" else "big"
        return (value & ((1 << (8 * size)) - 1)).to_bytes(size, name)  # type: ignore[arg-type]


X86_64 = Machine()


def padded(data: bytes, multiple: int) -> bytes:
    return data + bytes(-len(data) % multiple)
