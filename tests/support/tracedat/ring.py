# A CPU's ring as trace_pipe_raw hands it out: sub-buffers, each a time stamp, a commit word and
# records (kernel/trace/ring_buffer.c, include/linux/ring_buffer.h).

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from support.perfdata.machine import Machine

PADDING, TIME_EXTEND, TIME_STAMP = 29, 30, 31
DELTA_BITS, STAMP_BITS = 27, 59
MISSED, STORED = 1 << 31, 1 << 30
# 28 words: the longest record whose length stands in its header.
MAX_SMALL = 112


@dataclass(frozen=True)
class Entry:
    at: int
    payload: bytes


# Reserved, and given back by a filter when a later record stood behind it already.
@dataclass(frozen=True)
class Discarded:
    at: int
    size: int = 24


# The ring had no room for what came here: the next record starts a sub-buffer that says so. Without
# a count, the kernel did not know it, or had no room for it.
@dataclass(frozen=True)
class Missed:
    count: int | None = None

    def and_more(self, other: "Missed") -> "Missed":
        known = self.count is not None and other.count is not None
        return Missed((self.count or 0) + (other.count or 0) if known else None)


# The reader took a sub-buffer before it was full.
@dataclass(frozen=True)
class Taken:
    pass


Item = Entry | Discarded | Missed | Taken


# How kernels differ in writing the same records. `stamps`: what stands for a time that 27 bits of
# difference do not reach, or (with "every") before every record. `wide`: machines that need 8-byte
# alignment put every length in a word of its own.
@dataclass(frozen=True)
class Style:
    page_size: int = 4096
    stamps: str = "extend"
    every: bool = False
    wide: bool = False
    per_page: int | None = None
    # What stands behind the committed bytes: zeros, or what was there before.
    rubbish: int = 0
    # Until 2.6.34, a sub-buffer was committed to its end, with padding of no length.
    padded: bool = False


PLAIN = Style()


@dataclass
class Page:
    stamp: int
    missed: Missed | None = None
    records: list[bytes] = field(default_factory=list)

    @property
    def length(self) -> int:
        return sum(map(len, self.records))


@dataclass
class Ring:
    machine: Machine
    style: Style = PLAIN
    done: list[bytes] = field(default_factory=list)
    page: Page | None = None
    now: int = 0
    missed: Missed | None = None

    @property
    def room(self) -> int:
        return self.style.page_size - 8 - self.machine.word

    def add(self, items: Iterable[Item]) -> "Ring":
        for item in items:
            match item:
                case Taken():
                    self.close()
                case Missed():
                    self.close()
                    self.missed = item if self.missed is None else self.missed.and_more(item)
                case Entry() | Discarded():
                    self.record(item)
        return self

    def record(self, item: Entry | Discarded) -> None:
        page, full = self.page, self.style.per_page
        if page is not None and full is not None and len(page.records) >= full:
            self.close()
        if self.page is not None and len(self.stamped(item)) > self.left(self.page):
            self.close()
        if self.page is None:
            self.page = Page(item.at, self.missed)
            self.now, self.missed = item.at, None
            assert len(self.stamped(item)) <= self.left(self.page), "too long for a sub-buffer"
        self.page.records.append(self.stamped(item))
        # Readers add what stands in the padding's header, which is never zero.
        behind = isinstance(item, Discarded) and self.delta(item) == 0
        self.now = item.at + behind

    # Room for the count behind the records is left, so that what is told is written.
    def left(self, page: Page) -> int:
        counted = page.missed is not None and page.missed.count is not None
        return self.room - page.length - (self.machine.word if counted else 0)

    # What stands in the record's own header, where time is not in a record of its own before it.
    def delta(self, item: Entry | Discarded) -> int:
        delta = item.at - self.now
        return 0 if self.style.every or not 0 <= delta < 1 << DELTA_BITS else delta

    def stamped(self, item: Entry | Discarded) -> bytes:
        delta, before = item.at - self.now, b""
        if self.style.every or not 0 <= delta < 1 << DELTA_BITS:
            # Time that ran backwards has an absolute stamp only.
            if self.style.stamps == "absolute" or delta < 0:
                before = self.words(TIME_STAMP, item.at & (1 << STAMP_BITS) - 1)
            else:
                before = self.words(TIME_EXTEND, delta)
        if isinstance(item, Discarded):
            # Zero is for padding that has no length.
            return before + self.head(PADDING, self.delta(item) or 1) + self.sized(item.size)
        return before + self.data(self.delta(item), item.payload)

    def data(self, delta: int, payload: bytes) -> bytes:
        multiple = 8 if self.style.wide else 4
        payload += bytes(-len(payload) % multiple)
        if self.style.wide or len(payload) > MAX_SMALL:
            length = self.machine.pack("I", len(payload) + 4)
            return self.head(0, delta) + length + payload
        return self.head(len(payload) // 4, delta) + payload

    def sized(self, size: int) -> bytes:
        return self.machine.pack("I", size) + b"\xee" * (size - 4)

    # The compiler's bit fields: type_len:5, time_delta:27.
    def head(self, kind: int, delta: int) -> bytes:
        little = self.machine.order == "<"
        word = delta << 5 | kind if little else kind << DELTA_BITS | delta
        return self.machine.pack("I", word)

    def words(self, kind: int, value: int) -> bytes:
        low = value & (1 << DELTA_BITS) - 1
        return self.head(kind, low) + self.machine.pack("I", value >> DELTA_BITS)

    def close(self) -> None:
        page, self.page = self.page, None
        if page is None:
            return
        body, commit = b"".join(page.records), page.length
        rest = b""
        if page.missed is not None:
            commit |= MISSED
            if page.missed.count is not None:
                commit |= STORED
                rest = self.machine.integer(page.missed.count, self.machine.word)
        elif self.style.padded and self.room - len(body) >= 4:
            body += self.head(PADDING, 0)
            commit = self.room
        self.done.append(self.sub_buffer(page.stamp, commit, body + rest))

    def sub_buffer(self, stamp: int, commit: int, body: bytes) -> bytes:
        head = self.machine.integer(stamp, 8) + self.machine.integer(commit, self.machine.word)
        return head + body.ljust(self.room, bytes([self.style.rubbish]))

    def pages(self) -> bytes:
        self.close()
        return b"".join(self.done)


def ring(items: Sequence[Item], machine: Machine, style: Style = PLAIN) -> bytes:
    return Ring(machine, style).add(items).pages()
