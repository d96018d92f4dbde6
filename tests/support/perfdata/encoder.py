# Descriptions of records to bytes.

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from .attr import Attr
from .machine import X86_64, Machine
from .records import Record
from .sample import CPU_MODES, Layout, Sample
from .synthesised import Auxtrace, Bytes

SAMPLE = 9


@dataclass(frozen=True)
class Encoder:
    attrs: Sequence[Attr]
    machine: Machine = X86_64

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.attrs, self.machine)

    def encode(self, record: Record | Sample) -> bytes:
        layout = self.layout
        if isinstance(record, Sample):
            return self.framed(SAMPLE, layout.sample(record), CPU_MODES[record.mode])
        if isinstance(record, Bytes):
            return record.content
        body = record.body(layout)
        where = getattr(record, "where", None)
        if where is not None:
            body += layout.tail(where)
        framed = self.framed(record.type, body, record.misc)
        return framed + record.payload if isinstance(record, Auxtrace) else framed

    def framed(self, type_: int, body: bytes, misc: int = 0) -> bytes:
        return self.machine.pack("IHH", type_, misc, len(body) + 8) + body

    def all(self, records: Iterable[Record | Sample]) -> bytes:
        return b"".join(self.encode(record) for record in records)
