# What old perfs wrote: version 1 of the magic, a header without features, names as records or as a
# section of their own, pipes whose features come first, events without ids.

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis._native import Capture, CaptureError
from support.native_tables import Answer, assert_conserved, rows
from support.oracle import perf_script_counts
from support.perfdata import (
    MACHINES,
    Attr,
    Comm,
    Common,
    EventType,
    FinishedRound,
    Header,
    Record,
    Sample,
    SampleType,
    Where,
    write_file,
    write_old_pipe,
    write_pipe,
)
from support.perfdata import tracepoints as t
from support.perfdata.attr import TYPE_HARDWARE
from support.perfdata.container import magic
from support.perfdata.synthesised import HeaderFeature, Other
from support.story import story

T = SampleType
OLD = T.IP | T.TID | T.TIME | T.PERIOD
machines = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
# The sizes that attr has had: 64 in 2.6.31, 136 in 6.17; 72 to 104 by the time pipes had features.
SIZES = (64, 72, 80, 96, 104, 112, 120, 128, 136)


def cycles(size: int = 64, ids: tuple[int, ...] = (), kinds: SampleType = OLD) -> Attr:
    flags = frozenset({"exclude_guest"})
    return Attr("cycles", 0, ids, TYPE_HARDWARE, kinds, flags=flags, size=size)


SAMPLES = [Sample(Where(0, 100 + place, 500, 501), ip=place, period=7) for place in range(5)]
TOLD: list[Record | Sample] = [Comm(500, 501, "prog"), *SAMPLES, FinishedRound()]


def assert_told(path: Path, name: str = "cycles") -> None:
    found = rows(Capture(str(path)).samples(name))
    columns = ("time_ns", "tid", "comm", "ip", "period")
    assert [tuple(row[name] for name in columns) for row in found] == [
        (one.where.time, 501, "prog", one.ip, 7) for one in SAMPLES
    ]


@pytest.mark.parametrize("size", SIZES)
def test_version_1_with_any_attr(tmp_path: Path, size: int) -> None:
    for machine in MACHINES.values():
        for short in (False, True):
            path = tmp_path / "perf.data"
            options: dict[str, Any] = {"version": 1, "short": short, "names": True}
            path.write_bytes(write_file([cycles(size)], [], TOLD, machine=machine, **options))
            assert_told(path)
            header = Capture(str(path)).header()
            assert (header["version"], header["byte_order"]) == (
                1,
                {"<": "little", ">": "big"}[machine.order],
            )
            assert header["hostname"] == (None if short else "described")
            # What perf knows of version 1 are the sizes up to its end.
            if size <= 104:
                assert perf_script_counts(path) == {"cycles": len(SAMPLES)}


# Without a section of names, the attr's numbers have to do.
def test_version_1_without_names(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        path = tmp_path / "perf.data"
        header = Header(event_names=False)
        written = write_file([cycles()], [], TOLD, header, machine, version=1, short=True)
        path.write_bytes(written)
        [event] = Capture(str(path)).header()["events"]
        assert event["name"] == "cycles"
        assert_told(path)


# No formats were recorded: what the tracepoints said is lost, but not when and where they fired.
def test_tracepoints_without_formats_are_samples(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        told = story(machine=machine, attr_size=72)
        path = told.write(tmp_path / "perf.data", "short header")
        capture = Capture(str(path))
        wanted: dict[str, list[tuple[int, int]]] = {one.event: [] for one in told.formats}
        for event in sorted(told.events(), key=lambda one: one.at):
            wanted[event.format.event].append((event.at, event.cpu))
        for name, places in wanted.items():
            found = [(row["time_ns"], row["cpu"]) for row in rows(capture.samples(name))]
            assert sorted(found) == sorted(places), name
        assert capture.scan()["events"] == {name: len(places) for name, places in wanted.items()}


# A pipe of perf before 3.11, and ChromeOS' with its features in front: perf 6.1 takes those for
# other records, and gives up.
def test_old_pipes(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        for chrome in (False, True):
            for ids in ((), (3, 4)):
                path = tmp_path / "perf.data"
                attr = replace(cycles(80, ids), name="some-cycles")
                path.write_bytes(write_old_pipe([attr], [], TOLD, machine=machine, chrome=chrome))
                # Names that nobody could have made of the attr.
                assert_told(path, "some-cycles")
                header = Capture(str(path)).header()
                features = ("hostname", "os_release", "tool_version", "arch", "nr_cpus", "cmdline")
                said = ("described", "6.18.0", "6.1.187", "x86_64", 2, ["perf", "record", "-a"])
                assert tuple(header[name] for name in features) == (said if chrome else (None,) * 6)
                # perf names the event by its attr, and in pipes of foreign byte order it gets lost.
                if machine.order == "<" and not chrome:
                    assert perf_script_counts(path) == {"cycles": len(SAMPLES)}


# The numbers that ChromeOS used mean ID_INDEX, AUXTRACE and so on since: behind the first attr they
# do, whatever came before it.
def test_numbers_mean_features_only_before_the_first_attr(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        path = tmp_path / "perf.data"
        noise = [Other(number, bytes(16)) for number in (69, 70, 72, 73, 74, 75, 78, 79)]
        attr = replace(cycles(80), name="some-cycles")
        told = [TOLD[0], *noise, *TOLD[1:]]
        path.write_bytes(write_old_pipe([attr], [], told, machine=machine, chrome=True))
        assert_told(path, "some-cycles")
        assert Capture(str(path)).header()["hostname"] == "described"


# In a pipe, features are records, and of two the later one holds: perf inject adds its own.
def test_features_of_a_pipe_are_records(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        length = machine.pack("I", 64)
        told = ((3, b"later"), (4, b"9.9"))
        extra = [HeaderFeature(bit, length + text.ljust(64, b"\0")) for bit, text in told]
        path = tmp_path / "perf.data"
        path.write_bytes(write_pipe([cycles()], [], [*extra, *TOLD], machine=machine))
        header = Capture(str(path)).header()
        assert (header["hostname"], header["os_release"]) == ("later", "9.9")
        assert_told(path)


# One event needs no ids, whatever its samples carry; its attr then names none.
def test_a_lone_event_without_ids(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        for kinds in (OLD, OLD | T.ID, OLD | T.IDENTIFIER):
            for write in (write_file, write_pipe):
                path = tmp_path / "perf.data"
                path.write_bytes(write([cycles(64, (), kinds)], [], TOLD, machine=machine))
                assert_told(path)
                assert Capture(str(path)).scan()["notes"] == []


# A tracepoint's payload says by its first word which format it has; without any id that is all.
def test_tracepoints_without_ids_are_told_by_their_formats(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        formats = [t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT, t.IRQ_HANDLER_EXIT]
        kinds = T.TIME | T.CPU | T.TID | T.RAW
        attrs = [Attr(one.event, one.id, (), sample_type=kinds) for one in formats]
        told: list[Record | Sample] = []
        for number in range(12):
            place = number % 3
            values = {"vec": 3} if place < 2 else {"irq": number, "ret": 1}
            raw = formats[place].pack(values, Common(pid=500), machine)
            told.append(Sample(Where(0, 1000 + number, 500, 500, place), raw))
        path = tmp_path / "perf.data"
        path.write_bytes(write_file(attrs, formats, [*told, FinishedRound()], machine=machine))
        capture = Capture(str(path))
        for place, one in enumerate(formats):
            found = [row["time_ns"] for row in rows(capture.events(one.event))]
            assert found == [1000 + number for number in range(12) if number % 3 == place]


# EVENT_TYPE records and sections cut names at 64 bytes, and may name what is not recorded.
def test_names_of_events_that_are_not_there_name_nothing(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        path = tmp_path / "perf.data"
        named: list[Record | Sample] = [EventType(99, "another"), EventType(0, "mine")]
        told = [*named, *TOLD]
        path.write_bytes(write_pipe([cycles()], [], told, Header(event_names=False), machine))
        assert [one["name"] for one in Capture(str(path)).header()["events"]] == ["mine"]
        assert_told(path, "mine")


# Every way together: what a kernel of 2012 said on a 32-bit big-endian machine is a ledger still.
def test_old_captures_have_ledgers(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        for mode in ("version 1", "old pipe", "chrome pipe"):
            told = story(machine=machine, attr_size=80, header=Header(tracing_version="0.5"))
            answer = Answer(told.write(tmp_path / "perf.data", mode))
            assert_conserved(answer)
            assert answer.scan["events"]["napi:napi_poll"] == len(answer.polls) == 2


# The size of the attrs is all that tells the order of version 1: one that fits neither is refused.
def test_version_1_of_no_byte_order(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    data = bytearray(write_file([cycles()], [], TOLD, version=1))
    assert data[:8] == magic(MACHINES["s390x"], 1) == b"PERFFILE"
    data[16:24] = (80 << 32).to_bytes(8, "little")
    path.write_bytes(data)
    with pytest.raises(CaptureError) as refused:
        Capture(str(path)).scan()
    assert "\n" not in str(refused.value)
    assert "offset" in str(refused.value)
