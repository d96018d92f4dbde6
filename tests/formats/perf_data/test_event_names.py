# Without EVENT_DESC the attr alone says what an event is called, with perf's modifiers. The tables
# of uapi: native/src/perf/naming/tests.rs.

import itertools
from pathlib import Path

from netcost_analysis._native import Capture
from support.host import require_tool
from support.oracle import run
from support.perfdata import (
    MACHINES,
    Attr,
    Comm,
    Header,
    Machine,
    SampleType,
    write_file,
)
from support.perfdata.attr import TYPE_HARDWARE

BASIC = SampleType.IDENTIFIER | SampleType.IP | SampleType.TID | SampleType.TIME
NAMELESS = Header(event_names=False)


def attr(type_: int, config: int, *flags: str, precise: int = 0, place: int = 0) -> Attr:
    settings = frozenset({"sample_id_all", *flags})
    return Attr("", config, (10 + place,), type_, BASIC, flags=settings, precise_ip=precise)


def names(path: Path, attrs: list[Attr], machine: Machine = MACHINES["x86_64"]) -> list[str]:
    path.write_bytes(write_file(attrs, [], [Comm(1, 1, "x")], NAMELESS, machine))
    return [event["name"] for event in Capture(str(path)).header()["events"]]


# perf also says H, or HG, where nobody asked: where guests are not counted, or are.
def restrictions(name: str) -> str:
    return name.replace("HG", "").replace("H", "").rstrip(":")


# Whose events count, and how precise they are: k, u, h, p and G.
def test_modifiers_are_perfs(tmp_path: Path) -> None:
    without = ("exclude_user", "exclude_kernel", "exclude_hv", "exclude_host", "exclude_guest")
    flags = [set(some) for count in range(5) for some in itertools.combinations(without, count)]
    attrs = [
        attr(TYPE_HARDWARE, 0, *some, precise=precise, place=4 * place + precise)
        for place, some in enumerate(flags)
        if not some >= {"exclude_host", "exclude_guest"}
        for precise in range(4)
    ]
    path = tmp_path / "perf.data"
    mine = names(path, attrs)
    theirs = run(require_tool("perf"), "evlist", "-f", "-i", path).split()
    assert mine == [restrictions(name) for name in theirs]
    for machine in MACHINES.values():
        assert names(path, attrs, machine) == mine
