# Events whose formats no kernel source has: uprobes, kprobes and user_events are described when
# they are made, with fields one right behind the other and names that anybody may give.

from pathlib import Path
from typing import Any

import pytest

from netcost_analysis._native import Capture
from support.native_tables import rows
from support.perf_handler import handled_samples
from support.perfdata import (
    MACHINES,
    Attr,
    Comm,
    Common,
    Field,
    FinishedRound,
    Format,
    Machine,
    Record,
    Sample,
    Where,
    write_file,
    write_pipe,
)
from support.perfdata.formats import Value, c_int, string

machines = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


def u(size: int, name: str) -> Field:
    return Field(f"u{8 * size}", name, size)


UPROBE = Format(
    "probe_openssl",
    "main__return",
    1500,
    (
        *(Field("unsigned long", "__probe_func", 8), Field("unsigned long", "__probe_ret_ip", 8)),
        *(u(1, "flag"), u(8, "count"), Field("s32", "result", 4, True), string("path")),
        Field("u16", "ports", 2, False, 3),
    ),
    packed=True,
)
USER_EVENT = Format(
    "user_events",
    "request_done",
    1600,
    (
        *(u(1, "kind"), u(4, "status"), string("url", "rel"), u(2, "port"), c_int("delta")),
        Field("char", "tag", 1, False, 5),
    ),
    packed=True,
)
CALLS: list[dict[str, Value]] = [
    {
        "__probe_func": 0x401136,
        "__probe_ret_ip": 0x4010A0 + number,
        "flag": number % 2,
        "count": 2**63 + number,
        "result": -number,
        "path": "/tmp/" + "x" * number,
        "ports": [80, 443, 65535],
    }
    for number in range(4)
]
REQUESTS: list[dict[str, Value]] = [
    {
        "kind": 7,
        "status": 2**32 - 1 - number,
        "url": "https://host/" + "y" * number,
        "port": 65535,
        "delta": -5 * number,
        "tag": "abcde"[: number + 1],
    }
    for number in range(4)
]
TOLD = {UPROBE: CALLS, USER_EVENT: REQUESTS}


def written(path: Path, machine: Machine, write: Any) -> Path:
    formats = list(TOLD)
    attrs = [Attr(one.event, one.id, (10 * one.id,)) for one in formats]
    records: list[Record | Sample] = [Comm(500, 500, "openssl")]
    for place, one in enumerate(formats):
        for number, values in enumerate(TOLD[one]):
            raw = one.pack(values, Common(pid=500), machine)
            where = Where(0, 1000 + 2 * number + place, 500, 500, place)
            records.append(Sample(where, raw, mode="user"))
    path.write_bytes(write(attrs, formats, [*records, FinishedRound()], machine=machine))
    return path


def test_probes_and_user_events_are_read_by_their_formats(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        for write in (write_file, write_pipe):
            capture = Capture(str(written(tmp_path / "perf.data", machine, write)))
            for place, (one, wanted) in enumerate(TOLD.items()):
                found = rows(capture.events(one.event))
                names = [field.name for field in one.fields]
                assert [{name: row[name] for name in names} for row in found] == wanted
                assert [row["time_ns"] for row in found] == [1000 + 2 * n + place for n in range(4)]
                assert {row["common_comm"] for row in found} == {"openssl"}
                assert {row["cpu_mode"] for row in rows(capture.samples(one.event))} == {"user"}


# A field of a type that user space defined is some bytes, and those around it are read.
def test_a_struct_of_user_space_does_not_hide_its_neighbours(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        one = Format(
            "user_events",
            "moved",
            1700,
            (u(4, "before"), Field("struct point", "place", 20), u(4, "after")),
            packed=True,
        )
        raw = one.pack({"before": 1, "place": b"\x05" * 20, "after": 2}, Common(pid=500), machine)
        told = [Sample(Where(0, 1000, 500, 500), raw), FinishedRound()]
        path = tmp_path / "perf.data"
        path.write_bytes(write_file([Attr(one.event, one.id, (7,))], [one], told, machine=machine))
        [row] = rows(Capture(str(path)).events(one.event))
        assert (row["before"], row["after"]) == (1, 2)


# perf's handler extends no sign, and gives arrays as bytes, so those are left out.
def test_perf_reads_the_same(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        path = written(tmp_path / "perf.data", machine, write_file)
        seen = handled_samples(path, tmp_path)
        for one, wanted in TOLD.items():
            theirs = [told["fields"] for told in seen if told["event"] == one.event]
            names = [field.name for field in one.fields if field.count is None and not field.signed]
            found = [{name: told[name] for name in names} for told in theirs]
            assert found == [{name: row[name] for name in names} for row in wanted]
