# A tracepoint's recorded format, described: the text that the kernel shows in events/*/*/format,
# and the raw bytes that one event of it has. A field is described with the size it has on a 64-bit
# machine; text and bytes have the sizes and alignments of the machine they are made for.

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from struct import Struct

from .machine import X86_64, Machine

Value = int | bool | str | bytes | Sequence[int]
# Numbers as struct writes them, by their size.
NUMBERS = {1: "B", 2: "H", 4: "I", 8: "Q"}
# C's types, and the kernel's, that are as wide as the machine's registers.
WORDS = ("long", "unsigned long", "size_t", "ssize_t", "pgoff_t")


# A field is a scalar, a fixed array (count), or, with loc "data" or "rel", a 32-bit word that says
# where in the record (counted from the record's start, or from the end of that word) its elements
# stand: size << 16 | offset.
@dataclass(frozen=True)
class Field:
    type: str
    name: str
    size: int
    signed: bool = False
    count: int | None = None
    loc: str | None = None
    # How long an array is said to be, where that is not how long it is.
    declared: int | None = None

    @property
    def is_text(self) -> bool:
        return self.type == "char" and (self.count is not None or self.loc is not None)

    @property
    def stored(self) -> int:
        return 4 if self.loc else self.size * (1 if self.count is None else self.count)

    def alignment(self, machine: Machine) -> int:
        if self.loc:
            return 4
        return machine.wide_alignment if self.size == 8 else self.size

    def on(self, machine: Machine) -> "Field":
        wide = self.size == 8 and (self.type in WORDS or self.type.endswith("*"))
        return replace(self, size=machine.word) if wide else self

    def declaration(self) -> str:
        if self.loc:
            return f"__{self.loc}_loc {self.type}[] {self.name}"
        count = self.declared or self.count
        return f"{self.type} {self.name}" + (f"[{count}]" if count is not None else "")


def c_int(name: str) -> Field:
    return Field("int", name, 4, True)


def c_uint(name: str) -> Field:
    return Field("unsigned int", name, 4)


def pid_t(name: str) -> Field:
    return Field("pid_t", name, 4, True)


def comm_t(name: str) -> Field:
    return Field("char", name, 1, False, 16)


def string(name: str, loc: str = "data") -> Field:
    return Field("char", name, 1, False, None, loc)


COMMON = (
    Field("unsigned short", "common_type", 2),
    Field("unsigned char", "common_flags", 1),
    Field("unsigned char", "common_preempt_count", 1),
    Field("int", "common_pid", 4, True),
)
# Linux 6.1 PREEMPT_RT as Debian builds it: one more common byte, then an undescribed gap up to the
# next field.
COMMON_RT = (*COMMON, Field("unsigned char", "common_preempt_lazy_count", 1))
# Linux 3.4: the payload starts at 12.
COMMON_3_4 = (*COMMON, Field("int", "common_padding", 4, True))


@dataclass(frozen=True)
class Common:
    flags: int = 0
    preempt_count: int = 1
    pid: int = 0


@dataclass(frozen=True)
class Format:
    system: str
    name: str
    id: int
    fields: tuple[Field, ...]
    print_fmt: str = '""'
    common: tuple[Field, ...] = COMMON

    @property
    def event(self) -> str:
        return f"{self.system}:{self.name}"

    def with_common(self, common: tuple[Field, ...]) -> "Format":
        return replace(self, common=common)

    def offsets(self, machine: Machine = X86_64) -> list[tuple[Field, int]]:
        placed, offset = [], 0
        for described in (*self.common, *self.fields):
            one = described.on(machine)
            offset += -offset % one.alignment(machine)
            placed.append((one, offset))
            offset += one.stored
        return placed

    def text(self, machine: Machine) -> str:
        lines = [
            f"\tfield:{one.declaration()};\toffset:{offset};\tsize:{one.stored};\tsigned:{int(one.signed)};\n"
            for one, offset in self.offsets(machine)
        ]
        parts = len(self.common)
        body = "".join(lines[:parts]) + "\n" + "".join(lines[parts:])
        return f"name: {self.name}\nID: {self.id}\nformat:\n{body}\nprint fmt: {self.print_fmt}\n"

    def pack(self, values: Mapping[str, Value], common: Common, machine: Machine) -> bytes:
        raw = self.payload(values, common, machine)
        # perf rounds so that the u32 size and the data together end on 8 bytes, and counts the
        # padding as data.
        return raw + bytes(-(len(raw) + 4) % 8)

    # What the tracepoint wrote.
    def payload(self, values: Mapping[str, Value], common: Common, machine: Machine) -> bytes:
        stated = {
            "common_type": self.id,
            "common_flags": common.flags,
            "common_preempt_count": common.preempt_count,
            "common_pid": common.pid,
        }
        if machine not in self._plans:
            self._plans[machine] = self._plan(machine)
        layout, placed = self._plans[machine]
        packed: list[int | bytes] = []
        dynamic = b""
        for one, end, mask, in_common in placed:
            value = stated.get(one.name, 0) if in_common else values[one.name]
            if mask and isinstance(value, int):
                # Truncates like a C assignment.
                packed.append(value & mask)
                continue
            data = element_bytes(one, value, machine)
            if one.loc:
                start = layout.size + len(dynamic)
                where = start if one.loc == "data" else start - end
                packed.append(len(data) << 16 | where)
                dynamic += data
            else:
                packed.append(machine.number(data[: one.stored]) if mask else data)
        return layout.pack(*packed) + dynamic

    # Worked out once for a machine: it takes longer than to write an event.
    @cached_property
    def _plans(self) -> dict[Machine, tuple[Struct, list[tuple[Field, int, int, bool]]]]:
        return {}

    # The fixed part, and of each field: itself, where it ends, the mask of a number, whether it is
    # common.
    def _plan(self, machine: Machine) -> tuple[Struct, list[tuple[Field, int, int, bool]]]:
        layout, planned, end = machine.order, [], 0
        placed = self.offsets(machine)
        for one, offset in placed:
            is_number = one.loc is None and one.count is None and one.size in NUMBERS
            code = "I" if one.loc else NUMBERS[one.size] if is_number else f"{one.stored}s"
            layout += f"{offset - end}x{code}"
            end = offset + one.stored
            mask = (1 << 8 * one.size) - 1 if is_number else 0
            planned.append((one, end, mask, one in self.common))
        # The kernel's fixed part is a C struct, whose size is a multiple of its widest member.
        end = -end % max(one.alignment(machine) for one, _ in placed)
        return Struct(f"{layout}{end}x"), planned


def element_bytes(one: Field, value: Value, machine: Machine) -> bytes:
    if isinstance(value, int):
        return machine.integer(value, one.size)
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return value + b"\0" if one.loc and one.is_text else value
    return b"".join(machine.integer(int(item), one.size) for item in value)
