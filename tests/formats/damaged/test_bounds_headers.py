# Headers that are well-formed and made to cost time or memory: much of one thing, times much of
# another.

import struct
from pathlib import Path

from support.bounded import LINES, attrs, bounded, exit_sample
from support.perfdata import (
    Attr,
    Encoder,
    Format,
    Header,
    Machine,
    Sample,
    Where,
    write_file,
    write_pipe,
)
from support.perfdata.machine import X86_64
from support.perfdata.pipe import attr_record
from support.perfdata.synthesised import Other

EVENT_UPDATE, UPDATE_NAME, TRACING_DATA = 78, 2, 66


# A command line that filters many events many times over.
def test_filters_of_many_events(tmp_path: Path) -> None:
    names = ",".join(f"e{number}" for number in range(10_000))
    words = ("perf", "record", "-e", names, *["--filter=x"] * 10_000)
    path = tmp_path / "filters"
    header = Header(cmdline=words)
    path.write_bytes(write_file(attrs(LINES), LINES, [exit_sample()], header))
    bounded(path, "capture().scan()", megabytes=128)


# Patterns that each of many events has to be compared with, and that none fits.
def test_patterns_for_many_events(tmp_path: Path) -> None:
    patterns = ",".join("*a*b*c*d" for _ in range(10_000))
    header = Header(cmdline=("perf", "record", "-e", patterns, "--filter=x"), event_names=False)
    many = [Attr("", number, (1000 + number,), type=1, size=64) for number in range(10_000)]
    path = tmp_path / "patterns"
    path.write_bytes(write_file(many, (), [], header))
    bounded(path, "capture().scan()", megabytes=128)


# Names by id, for events that have many ids or none, and none of those.
def test_names_of_many_ids(tmp_path: Path) -> None:
    encode = Encoder([]).encode
    name = encode(Other(EVENT_UPDATE, struct.pack("<QQ", UPDATE_NAME, 7) + b"name".ljust(8, b"\0")))
    ids = tuple(range(1000, 9000))
    for number, own in ((60, ids), (60_000, ())):
        one = encode(attr_record(Attr("", 5, own, type=1, size=64), X86_64))
        path = tmp_path / f"names-{number}"
        path.write_bytes(
            write_pipe([], (), [], Header(event_names=False)) + one * number + name * 60_000
        )
        bounded(path, "capture().scan()", megabytes=256)


class Thin(Format):
    def text(self, machine: Machine) -> str:
        field = "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
        return f"name: {self.name}\nID: {self.id}\n{field}"


# Each event is another table; and after each of the records at the end, all of them are looked at.
def test_tables_of_many_events(tmp_path: Path) -> None:
    formats = [Thin("irq", f"event{number:05}", number, ()) for number in range(20_000)]
    many = [Attr(one.event, one.id, (10**6 + one.id,), size=64) for one in formats]
    whole = write_pipe(many, formats, [], Header(event_names=False))
    whole += Encoder(many).encode(Sample(Where(0, 1000), bytes(12)))
    path = tmp_path / "tables"
    path.write_bytes(whole + struct.pack("<IHHI", TRACING_DATA, 0, 12, 0) * 50_000)
    bounded(path, "capture().all_events()", megabytes=512)
