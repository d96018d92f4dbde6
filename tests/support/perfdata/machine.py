# The machine that a described recording pretends to come from: every writer in this package packs
# through it, so that another byte order or word size is one argument and not another writer.

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

WORD = (1 << 64) - 1


@dataclass(frozen=True)
class Machine:
    order: str = "<"
    # Bytes of `unsigned long`, and of a pointer.
    word: int = 8
    # What an 8-byte member of a struct is aligned to: 4 on i386, 8 on other 32-bit machines.
    wide_alignment: int = 8

    def pack(self, layout: str, *values: int | bytes) -> bytes:
        return struct.pack(self.order + layout, *values)

    def integer(self, value: int, size: int) -> bytes:
        # Truncates like a C assignment, so a description may give -1 for an unsigned field.
        return (value & ((1 << (8 * size)) - 1)).to_bytes(size, self._name)

    # A number of so many bytes, bytes as they are, a text with its NUL.
    def part(self, one: tuple[int, int] | bytes | str) -> bytes:
        if isinstance(one, str):
            return one.encode() + b"\0"
        return one if isinstance(one, bytes) else self.integer(one[1], one[0])

    def number(self, data: bytes) -> int:
        return int.from_bytes(data, self._name)

    @property
    def _name(self) -> Literal["little", "big"]:
        return "little" if self.order == "<" else "big"

    def words(self, values: Sequence[int]) -> bytes:
        return struct.pack(f"{self.order}{len(values)}Q", *(value & WORD for value in values))

    def bitfields(self, fields: Iterable[tuple[int, int, int]]) -> bytes:
        """
        A 64-bit word of C bit-fields: a little-endian compiler fills it from its least significant
        bit, a big-endian one from its most significant bit.

        :param fields: (place of the first bit in order of declaration, bits, value)
        """
        word = 0
        for place, bits, value in fields:
            word |= value << (place if self.order == "<" else 64 - place - bits)
        return self.pack("Q", word)


X86_64 = Machine()
I386 = Machine("<", 4, 4)
ARM = Machine("<", 4)
S390X = Machine(">", 8)
PPC = Machine(">", 4)
MACHINES = {"x86_64": X86_64, "i386": I386, "arm": ARM, "s390x": S390X, "ppc": PPC}


def padded(data: bytes, multiple: int) -> bytes:
    return data + bytes(-len(data) % multiple)
