# Without EVENT_DESC the attr alone says what an event is called: the tables of uapi, and perf's
# modifiers behind them.

import itertools
from pathlib import Path

import pytest

from netcost_analysis._native import Capture
from support.host import require_tool
from support.native_tables import rows
from support.oracle import run
from support.perfdata import (
    MACHINES,
    Attr,
    Comm,
    Header,
    Machine,
    Sample,
    SampleType,
    Where,
    write_file,
)
from support.perfdata.attr import TYPE_CACHE, TYPE_HARDWARE, TYPE_RAW, TYPE_SOFTWARE

BASIC = SampleType.IDENTIFIER | SampleType.IP | SampleType.TID | SampleType.TIME
NAMELESS = Header(event_names=False)
machines = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


def attr(type_: int, config: int, *flags: str, precise: int = 0, place: int = 0) -> Attr:
    settings = frozenset({"sample_id_all", *flags})
    return Attr("", config, (10 + place,), type_, BASIC, flags=settings, precise_ip=precise)


def names(path: Path, attrs: list[Attr], machine: Machine = MACHINES["x86_64"]) -> list[str]:
    path.write_bytes(write_file(attrs, [], [Comm(1, 1, "x")], NAMELESS, machine))
    return [event["name"] for event in Capture(str(path)).header()["events"]]


KNOWN = {
    "cycles": (TYPE_HARDWARE, 0),
    "instructions": (TYPE_HARDWARE, 1),
    "cache-misses": (TYPE_HARDWARE, 3),
    "stalled-cycles-frontend": (TYPE_HARDWARE, 7),
    "ref-cycles": (TYPE_HARDWARE, 9),
    "cpu-clock": (TYPE_SOFTWARE, 0),
    "page-faults": (TYPE_SOFTWARE, 2),
    "context-switches": (TYPE_SOFTWARE, 3),
    "cpu-migrations": (TYPE_SOFTWARE, 4),
    "bpf-output": (TYPE_SOFTWARE, 10),
    "L1-dcache-load-misses": (TYPE_CACHE, 0x10000),
    "L1-icache-load-misses": (TYPE_CACHE, 0x10001),
    "LLC-loads": (TYPE_CACHE, 0x2),
    "LLC-stores": (TYPE_CACHE, 0x102),
    "dTLB-load-misses": (TYPE_CACHE, 0x10003),
    "branch-load-misses": (TYPE_CACHE, 0x10005),
    "node-prefetch-misses": (TYPE_CACHE, 0x10206),
}


def test_known_events_have_the_names_of_uapi(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        attrs = [
            attr(*kind, "exclude_guest", place=place) for place, kind in enumerate(KNOWN.values())
        ]
        path = tmp_path / "perf.data"
        assert names(path, attrs, machine) == list(KNOWN)
        events = Capture(str(path)).header()["events"]
        assert [(event["type"], event["config"]) for event in events] == list(KNOWN.values())


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


# perf itself mirrors the bits of each byte of a foreign attr, and so reads the two bits of
# precise_ip in the wrong order: of a big-endian machine, it takes cycles:p for cycles:pp.
def test_precise_ip_is_a_number_and_not_two_flags(tmp_path: Path) -> None:
    for precise in range(4):
        for machine in MACHINES.values():
            [name] = names(
                tmp_path / "perf.data", [attr(TYPE_HARDWARE, 0, precise=precise)], machine
            )
            assert name == restrictions("cycles:" + "p" * precise)


# Numbers that no table knows still give every event a name of its own.
def test_unknown_events_have_names_too(tmp_path: Path) -> None:
    kinds = ((TYPE_RAW, 0x1B2), (TYPE_HARDWARE, 99), (17, 5), (TYPE_CACHE, 0xFFFFFF))
    attrs = [attr(*kind, place=place) for place, kind in enumerate(kinds)]
    told = [Sample(Where(0, 1 + place, 1, 1, place)) for place in range(len(attrs))]
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(attrs, [], told, NAMELESS))
    found = Capture(str(path))
    called = [event["name"] for event in found.header()["events"]]
    assert len(set(called)) == len(called)
    assert all(called)
    times = [[row["time_ns"] for row in rows(found.samples(name))] for name in called]
    assert times == [[1], [2], [3], [4]]
