# What old perfs wrote: version 1 of the magic, a header without features, names as records or as a
# section of their own, pipes whose features come first, events without ids.

from pathlib import Path

import pytest

from netcost_analysis._native import Capture, CaptureError
from support.native_tables import rows
from support.oracle import perf_script_counts
from support.perfdata import (
    MACHINES,
    Attr,
    Comm,
    Common,
    EventType,
    FinishedRound,
    Header,
    Machine,
    Record,
    Sample,
    SampleType,
    Where,
    write_file,
    write_pipe,
)
from support.perfdata import tracepoints as t
from support.perfdata.attr import TYPE_HARDWARE
from support.perfdata.records import HeaderFeature, Other
from support.story import story

T = SampleType
OLD = T.IP | T.TID | T.TIME | T.PERIOD
machines = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
# The sizes that attr has had: 64 in 2.6.31, 136 in 6.17; 72 to 104 by the time pipes had features.
SIZES = (64, 72, 80, 96, 104, 112, 120, 128, 136)
SAMPLES = [Sample(Where(0, 100 + place, 500, 501), ip=place, period=7) for place in range(5)]
TOLD: list[Record | Sample] = [Comm(500, 501, "prog"), *SAMPLES, FinishedRound()]


def cycles(size: int = 64, ids: tuple[int, ...] = (), kinds: SampleType = OLD) -> Attr:
    flags = frozenset({"exclude_guest"})
    return Attr("some-cycles", 0, ids, TYPE_HARDWARE, kinds, flags=flags, size=size)


# What is written is read back, under a name that nobody could have made of the attr.
def read_back(folder: Path, data: bytes, name: str = "some-cycles") -> Capture:
    path = folder / "perf.data"
    path.write_bytes(data)
    capture = Capture(str(path))
    columns = ("time_ns", "tid", "comm", "ip", "period")
    assert [tuple(row[name] for name in columns) for row in rows(capture.samples(name))] == [
        (one.where.time, 501, "prog", one.ip, 7) for one in SAMPLES
    ]
    return capture


def test_version_1_with_any_attr(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        for size in SIZES:
            for short in (False, True):
                how = {"version": 1, "short": short, "names": True}
                data = write_file([cycles(size)], [], TOLD, machine=machine, **how)  # type: ignore[arg-type]
                header = read_back(tmp_path, data).header()
                order = {"<": "little", ">": "big"}[machine.order]
                assert (header["version"], header["byte_order"]) == (1, order)
                assert header["hostname"] == (None if short else "described")
        # What perf knows of version 1 are the sizes up to its end.
        data = write_file([cycles(104)], [], TOLD, machine=machine, version=1, names=True)
        read_back(tmp_path, data)
        assert perf_script_counts(tmp_path / "perf.data").total() == len(SAMPLES)
        # Without a section of names, the attr's numbers have to do.
        header = Header(event_names=False)
        data = write_file([cycles()], [], TOLD, header, machine, version=1, short=True)
        read_back(tmp_path, data, "cycles")


# The size of the attrs is all that tells the order of version 1: one that fits neither is refused.
def test_version_1_of_no_byte_order(tmp_path: Path) -> None:
    data = bytearray(write_file([cycles()], [], TOLD, version=1))
    assert data[:8] == b"PERFFILE"
    data[16:24] = (80 << 32).to_bytes(8, "little")
    (tmp_path / "perf.data").write_bytes(data)
    with pytest.raises(CaptureError) as refused:
        Capture(str(tmp_path / "perf.data"))
    assert refused.value.offset is not None


# A pipe of perf before 3.11, and ChromeOS' with its features in front: perf 6.1 takes those for
# other records, and gives up. The numbers that ChromeOS used mean ID_INDEX, AUXTRACE and so on
# since: behind the first attr they do, whatever came before it.
@machines
def test_old_pipes(tmp_path: Path, machine: Machine) -> None:
    noise = [Other(number, bytes(16)) for number in (69, 70, 72, 73, 74, 75, 78, 79)]
    features = ("hostname", "os_release", "tool_version", "arch", "nr_cpus", "cmdline")
    said = ("described", "6.18.0", "6.1.187", "x86_64", 2, ["perf", "record", "-a"])
    for chrome in (False, True):
        for ids in ((), (3, 4)):
            told = [TOLD[0], *noise, *TOLD[1:]] if chrome else TOLD
            attr = cycles(80, ids)
            data = write_pipe([attr], [], told, machine=machine, old=True, chrome=chrome)
            header = read_back(tmp_path, data).header()
            assert tuple(header[name] for name in features) == (said if chrome else (None,) * 6)
            # perf names the event by its attr, and in pipes of foreign byte order it gets lost.
            if machine.order == "<" and not chrome:
                assert perf_script_counts(tmp_path / "perf.data") == {"cycles": len(SAMPLES)}


# In a pipe, features are records, and of two the later one holds: perf inject adds its own. Records
# of event types may name what is not recorded.
@machines
def test_features_and_names_of_a_pipe_are_records(tmp_path: Path, machine: Machine) -> None:
    extra: list[Record | Sample] = [
        HeaderFeature(bit, machine.pack("I", 64) + text.ljust(64, b"\0"))
        for bit, text in ((3, b"later"), (4, b"9.9"))
    ]
    extra += [EventType(99, "another"), EventType(0, "mine")]
    unnamed = Header(event_names=False)
    data = write_pipe([cycles()], [], [*extra, *TOLD], unnamed, machine)
    header = read_back(tmp_path, data, "mine").header()
    assert (header["hostname"], header["os_release"]) == ("later", "9.9")
    assert [one["name"] for one in header["events"]] == ["mine"]


# One event needs no ids, whatever its samples carry; its attr then names none.
@machines
def test_a_lone_event_without_ids(tmp_path: Path, machine: Machine) -> None:
    for kinds in (OLD, OLD | T.ID, OLD | T.IDENTIFIER):
        for write in (write_file, write_pipe):
            data = write([cycles(64, (), kinds)], [], TOLD, machine=machine)
            assert read_back(tmp_path, data).scan()["notes"] == []


# A tracepoint's payload says by its first word which format it has; without any id that is all.
@machines
def test_tracepoints_without_ids_have_their_formats(tmp_path: Path, machine: Machine) -> None:
    formats = [t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT, t.IRQ_HANDLER_EXIT]
    kinds = T.TIME | T.CPU | T.TID | T.RAW
    attrs = [Attr(one.event, one.id, (), sample_type=kinds) for one in formats]
    told: list[Record | Sample] = []
    for number in range(12):
        values = {"vec": 3} if number % 3 < 2 else {"irq": number, "ret": 1}
        raw = formats[number % 3].pack(values, Common(pid=500), machine)
        told.append(Sample(Where(0, 1000 + number, 500, 500, number % 3), raw))
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(attrs, formats, [*told, FinishedRound()], machine=machine))
    for place, one in enumerate(formats):
        found = [row["time_ns"] for row in rows(Capture(str(path)).events(one.event))]
        assert found == list(range(1000 + place, 1012, 3))


# No formats were recorded: what the tracepoints said is lost, but not when and where they fired.
@machines
def test_tracepoints_without_formats_are_samples(tmp_path: Path, machine: Machine) -> None:
    told = story(machine=machine, attr_size=72)
    capture = Capture(str(told.write(tmp_path / "perf.data", "short header")))
    wanted: dict[str, list[tuple[int, int]]] = {one.event: [] for one in told.formats}
    for event in told.events():
        wanted[event.format.event].append((event.at, event.cpu))
    for name, places in wanted.items():
        found = [(row["time_ns"], row["cpu"]) for row in rows(capture.samples(name))]
        assert sorted(found) == sorted(places), name
    assert capture.scan()["events"] == {name: len(places) for name, places in wanted.items()}
