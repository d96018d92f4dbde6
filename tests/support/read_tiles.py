# The bytes of a tile as docs/view.md describes them, read.

import struct
from collections import Counter
from dataclasses import dataclass
from typing import Any

from netcost_analysis.view.header import BUCKETS


@dataclass(frozen=True)
class OfCpu:
    form: int
    # Of form 0: (bucket, owner, ns); of form 1: (begin, end, owner, task).
    rows: list[tuple[Any, ...]]
    packets: list[int]
    stolen: list[float]

    # By bucket and owner, whichever form it has.
    def shares(self, level: int, index: int) -> Counter[tuple[int, int]]:
        found: Counter[tuple[int, int]] = Counter()
        if self.form == 0:
            for bucket, owner, ns in self.rows:
                found[bucket, owner] += int(ns)
            return found
        width = 1 << level
        begin = index * BUCKETS * width
        for start, end, owner, _ in self.rows:
            at = int(start) - begin
            while at < int(end) - begin:
                bucket = at // width
                until = min(int(end) - begin, (bucket + 1) * width)
                found[bucket, owner] += until - at
                at = until
        return found


def read_tile(data: bytes) -> list[OfCpu]:
    magic, count = struct.unpack_from("<II", data)
    assert magic == 0x31544C4E
    forms = [struct.unpack_from("<II", data, 8 + 8 * cpu) for cpu in range(count)]
    place = 8 + 8 * count

    def array(kind: str, length: int) -> tuple[Any, ...]:
        nonlocal place
        values = struct.unpack_from(f"<{length}{kind}", data, place)
        place += -(-struct.calcsize(f"<{length}{kind}") // 8) * 8
        return values

    found = []
    for form, rows in forms:
        if form == 0:
            ns, owner, bucket = array("d", rows), array("I", rows), array("H", rows)
            told = list(zip(bucket, owner, ns, strict=True))
            assert told == sorted(told)
        else:
            told = list(
                zip(
                    array("d", rows),
                    array("d", rows),
                    array("I", rows),
                    array("I", rows),
                    strict=True,
                )
            )
        packets, stolen = list(array("I", BUCKETS)), list(array("d", BUCKETS))
        found.append(OfCpu(form, told, packets, stolen))
    assert place == len(data)
    return found
