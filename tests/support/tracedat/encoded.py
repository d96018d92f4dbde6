# The bytes of a trace.dat, of version 6 (trace-cmd up to 2.9.7, and later with --file-version 6) or
# 7 (trace-cmd 3), whose sections are found through options, which are sections too.

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import zstandard

from support.perfdata.features import sized
from support.perfdata.machine import Machine, padded

from . import options as o
from .contents import SECTIONS, Buffer, Contents

COMPRESSED = 1
# What trace-cmd calls its sections.
NAMES = {
    o.HEADER_INFO: "headers",
    o.FTRACE_EVENTS: "ftrace events",
    o.EVENT_FORMATS: "events format",
    o.KALLSYMS: "kallsyms",
    o.PRINTK: "printk",
    o.CMDLINES: "command lines",
    o.DONE: "options",
    o.STRINGS: "strings",
}


@dataclass(frozen=True)
class Packing:
    # "zstd", "zlib" or "none".
    algorithm: str = "zstd"
    chunk_pages: int = 10
    # trace-cmd leaves them as they are; a reader looks at the flag.
    options: bool = False
    # Buffers may be packed where the rest is not, and the other way round.
    headers: bool = True
    buffers: bool = True
    # How many options stand in one section before it points at the next.
    options_each: int | None = None

    def version(self) -> str:
        return {"zstd": "1.5.4", "zlib": zlib.ZLIB_VERSION, "none": ""}[self.algorithm]

    def pack(self, data: bytes) -> bytes:
        if self.algorithm == "zlib":
            return zlib.compress(data)
        # The frame does not tell its size, as trace-cmd's do not.
        return zstandard.ZstdCompressor(write_content_size=False).compress(data)

    # What trace-cmd puts before everything it packs.
    def block(self, data: bytes, machine: Machine) -> bytes:
        packed = self.pack(data)
        return machine.pack("II", len(packed), len(data)) + packed

    def chunks(self, data: bytes, size: int, machine: Machine) -> bytes:
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        return machine.pack("I", len(pieces)) + b"".join(
            self.block(piece, machine) for piece in pieces
        )


ZSTD = Packing()


@dataclass
class Writer:
    contents: Contents
    packing: Packing
    data: bytearray = field(default_factory=bytearray)
    strings: bytearray = field(default_factory=bytearray)
    # Sections that say something else than what follows from the contents.
    bodies: Mapping[int, bytes] = field(default_factory=dict)

    @property
    def machine(self) -> Machine:
        return self.contents.machine

    def packs(self, wanted: bool) -> bool:
        return wanted and self.packing.algorithm != "none"

    def section(self, identity: int, body: bytes, packed: bool) -> int:
        start = len(self.data)
        if packed:
            body = self.packing.block(body, self.machine)
        self.data += self.header(identity, packed, len(body), NAMES[identity]) + body
        return start

    def header(self, identity: int, packed: bool, size: int, name: str) -> bytes:
        place = len(self.strings)
        self.strings += name.encode() + b"\0"
        return self.machine.pack("HHIQ", identity, COMPRESSED * packed, place, size)

    # Pages begin where the file has a page's boundary; padding before the first belongs to the
    # section.
    def buffer(self, one: Buffer) -> o.Option:
        start, packed = len(self.data), self.packs(self.packing.buffers)
        name = f"buffer flyrecord {one.name}"
        self.data += self.header(o.BUFFER, packed, 0, name)
        rows: list[tuple[int, int]] = [(4, one.page_size), (4, len(one.rings))]
        for cpu, pages in one.rings.items():
            self.data += bytes(-len(self.data) % self.contents.page_size)
            size = self.packing.chunk_pages * one.page_size
            held = self.packing.chunks(pages, size, self.machine) if packed and pages else pages
            rows += [(4, cpu), (8, len(self.data)), (8, len(held))]
            self.data += held
        self.data[start + 8 : start + 16] = self.machine.pack("Q", len(self.data) - start - 16)
        return o.Option(o.BUFFER, ((8, start), one.name, one.clock, *rows))

    def text(self, one: Buffer) -> o.Option:
        packed, text = self.packs(self.packing.buffers), (one.text or "").encode()
        size = self.packing.chunk_pages * self.contents.page_size
        held = self.packing.chunks(text, size, self.machine) if packed else text
        start = len(self.data)
        self.data += self.header(o.BUFFER_TEXT, packed, len(held), f"buffer latency {one.name}")
        self.data += held
        return o.Option(o.BUFFER_TEXT, ((8, start), one.name, one.clock))

    # Each section's last option says where the next section is.
    def option_sections(self, options: Sequence[o.Option]) -> int:
        each = self.packing.options_each or len(options)
        groups = [options[at : at + each] for at in range(0, len(options), each)]
        following = 0
        for group in reversed(groups):
            done = o.Option(o.DONE, ((8, following),))
            body = b"".join(one.encode(self.machine) for one in (*group, done))
            following = self.section(o.DONE, body, self.packs(self.packing.options))
        return following

    def body(self, identity: int) -> bytes:
        body = self.bodies.get(identity)
        return SECTIONS[identity](self.contents) if body is None else body

    def write(self) -> bytes:
        start = self.contents.magic(7) + self.packing.algorithm.encode() + b"\0"
        start += self.packing.version().encode() + b"\0"
        self.data += start + bytes(8)
        packed = self.packs(self.packing.headers)
        places = [
            o.Option(identity, ((8, self.section(identity, self.body(identity), packed)),))
            for identity in SECTIONS
        ]
        clock = o.trace_clock(self.contents.clock_file)
        buffers = [
            self.buffer(one) if one.text is None else self.text(one)
            for one in self.contents.buffers
        ]
        first = self.option_sections([*places, clock, *self.contents.options, *buffers])
        self.data[len(start) : len(start) + 8] = self.machine.pack("Q", first)
        self.section(o.STRINGS, bytes(self.strings) + b"strings\0", packed)
        return bytes(self.data)


# Version 6: all headers in one fixed order, then for each buffer a table of its CPUs, and their
# pages. old_clock: as 2.9 wrote it, not as 3.1 does.
def version_6(one: Contents, old_clock: bool) -> bytes:
    machine, top = one.machine, one.top
    data = one.magic(6) + b"".join(section(one) for section in SECTIONS.values())
    count = max(map(cpus, one.buffers))
    data += machine.pack("I", count) + b"options  \0"
    # The option says that a clock stands behind the table.
    shown = () if old_clock else (one.clock_file,)
    clock_option = [o.Option(o.TRACECLOCK, shown)] if top.text is None else []
    for option in (*clock_option, *one.options):
        data += option.encode(machine)
    # An instance's option says where its table stands: it is filled in once that is known.
    places = {}
    for instance in one.instances:
        option = o.Option(o.BUFFER, ((8, 0), instance.name))
        places[instance.name] = len(data) + 6
        data += option.encode(machine)
    data += machine.pack("H", o.DONE)
    if top.text is not None:
        return data + b"latency  \0" + top.text.encode()
    clock = one.clock_file if old_clock else f"[{top.clock}]"
    whole = bytearray(data)
    table(whole, one, top, count, clock)
    for instance in one.instances:
        place = places[instance.name]
        whole[place : place + 8] = machine.pack("Q", len(whole))
        table(whole, one, instance, count, clock)
    return bytes(whole)


# A CPU is known by its place in the table, of which all have the same length: gaps in their numbers
# are CPUs without data.
def cpus(buffer: Buffer) -> int:
    return max(buffer.rings, default=-1) + 1


def table(whole: bytearray, one: Contents, buffer: Buffer, count: int, clock: str) -> None:
    machine = one.machine
    pages = [buffer.rings.get(cpu, b"") for cpu in range(count)]
    text = sized(clock, machine)
    first = len(whole) + 10 + 16 * count + len(text)
    first += -first % one.page_size
    rows, offset = b"", first
    for data in pages:
        rows += machine.pack("QQ", offset, len(data))
        offset += len(padded(data, one.page_size))
    whole += b"flyrecord\0" + rows + text
    whole += bytes(first - len(whole)) + b"".join(padded(data, one.page_size) for data in pages)


NO_BODIES: Mapping[int, bytes] = {}


def encoded(
    one: Contents,
    version: int = 7,
    packing: Packing = ZSTD,
    bodies: Mapping[int, bytes] = NO_BODIES,
    old_clock: bool = False,
) -> bytes:
    if version == 6:
        return version_6(one, old_clock)
    return Writer(one, packing, bodies=bodies).write()
