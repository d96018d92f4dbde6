# One timeline, told by every machine in every container: the answers are the same.

import random
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis._native import Capture
from support.host import Fresh, examples
from support.narrator import recordings
from support.native_tables import Answer, assert_conserved, gaps, rows
from support.perfdata import MACHINES, Machine, Mmap, Mmap2, Recording, SampleType, cpu, recording
from support.perfdata import happenings as h
from support.perfdata.attr import READ_GROUP, READ_ID
from support.perfdata.records import KernelSymbol
from support.perfdata.timeline import narrowed
from support.story import story
from support.told import NET_RX, OPENSSL

T = SampleType
FOREIGN = [name for name in MACHINES if name != "x86_64"]
# Every way to write a capture that names its events and has their formats.
CONTAINERS = [
    *((mode, packed) for mode in ("file", "pipe") for packed in (0, 1, 2)),
    *((mode, 0) for mode in ("directory", "version 1", "old pipe", "chrome pipe")),
]
BESIDE = (
    Mmap(-1, 0xFFFFFFFF81000000, 0xC00000, "[kernel.kallsyms]_text", mode="kernel", tid=-1),
    Mmap2(500, 0x400000, 4096, "/usr/bin/openssl", page_offset=8192),
    Mmap2(500, 0x7F0000000000, 8192, "/lib/libc.so.6", build_id=bytes(range(20))),
    KernelSymbol(0xFFFFFFFFC0001000, 300, "bpf_prog_6deef7357e7b4530_count"),
)


def tables(path: Path) -> dict[str, Any]:
    capture, answer = Capture(str(path)), Answer(path)
    assert_conserved(answer)
    found: dict[str, Any] = {name: rows(table) for name, table in capture.all_events().items()}
    found |= answer.tables | {"sums": answer.sums, "displaced": answer.displaced}
    found |= {"irqs": answer.irqs, "mappings": rows(capture.mappings())}
    found |= {"kernel symbols": rows(capture.kernel_symbols())}
    told = ("start_ns", "end_ns", "cpus", "events", "lost_events", "lost_unplaced", "notes")
    return found | {name: answer.scan[name] for name in told} | {"gaps": gaps(answer.scan)}


def assert_same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for name, table in wanted.items():
        assert found[name] == table, name


@dataclass(frozen=True)
class Dress:
    machine: Machine
    container: tuple[str, int]
    sample_type: SampleType
    read_format: int
    attr_size: int
    precise_ip: int

    def on(self, told: Recording) -> Recording:
        return replace(
            told,
            machine=self.machine,
            sample_type=self.sample_type,
            attr_size=self.attr_size,
            attr={"read_format": self.read_format, "precise_ip": self.precise_ip},
        )


# Times, CPUs and payloads are what a timeline is made of; everything else may or may not be there.
@st.composite
def dresses(draw: st.DrawFn) -> Dress:
    kinds = T.TIME | T.CPU | T.RAW | draw(st.sampled_from([T.ID, T.IDENTIFIER]))
    for bit in draw(st.sets(st.sampled_from(sorted(set(T) - {T.WEIGHT_STRUCT})))):
        kinds |= bit
    read_format = draw(st.integers(0, 31))
    # In a directory nothing marks the flushes, so what is written twice at one cannot be told.
    container = draw(st.sampled_from([one for one in CONTAINERS if one[0] != "directory"]))
    # Version 1 says its byte order by an attr size that readers know; its last was of 2.6.33.
    sizes = [96, 104, 112, 120, 128, 136] + ([144, 200] if container[0] != "version 1" else [])
    return Dress(
        draw(st.sampled_from(list(MACHINES.values()))),
        container,
        kinds,
        read_format | (READ_ID if read_format & READ_GROUP else 0),
        draw(st.sampled_from(sizes)),
        draw(st.integers(0, 3)),
    )


@examples(30)
@given(recordings(), dresses())
def test_a_timeline_is_the_same_whoever_tells_it(
    fresh: Fresh, told: Recording, dress: Dress
) -> None:
    folder = fresh()
    told = replace(narrowed(told), beside=BESIDE)
    wanted = tables(told.write(folder / "plain.data"))
    found = tables(dress.on(told).write(folder / "perf.data", *dress.container))
    assert_same(found, wanted)


# The same sample_type by another machine: every sample's columns too.
@pytest.mark.parametrize("container", CONTAINERS, ids=str)
def test_every_machine_in_every_container(tmp_path: Path, container: tuple[str, int]) -> None:
    def everything(name: str) -> Iterator[tuple[str, Any]]:
        path = tmp_path / name
        told = replace(narrowed(story()), machine=MACHINES[name], beside=BESIDE, attr_size=104)
        told.write(path, *container)
        yield from tables(path).items()
        capture = Capture(str(path))
        for one in told.formats:
            yield f"samples of {one.event}", rows(capture.samples(one.event))
        yield "records", capture.scan()["records"]

    wanted = dict(everything("x86_64"))
    for name in FOREIGN:
        assert_same(dict(everything(name)), wanted)


# Records, and compressed records, cross every border of what readers hold at once.
def test_a_large_capture_is_the_same_in_every_container(tmp_path: Path) -> None:
    def contents(path: Path) -> tuple[dict[str, pa.Table], Any]:
        capture = Capture(str(path))
        found = {name: pa.table(table) for name, table in capture.all_events().items()}
        return found, pa.table(capture.timeline(["segments"])["tables"]["segments"])

    told = large()
    plain = told.write(tmp_path / "file")
    wanted, answer = contents(plain), Answer(plain, ["segments", "softirqs", "polls"])
    assert (
        wanted[0]["napi:napi_poll"].num_rows == len(answer.polls) == len(answer.softirqs) == 1_400
    )
    assert answer.summary["disagreements"] == 0
    assert_conserved(answer)
    for mode, compressed in CONTAINERS[1:6]:
        path = told.write(tmp_path / "perf.data", mode, compressed)
        assert path.stat().st_size > 1.2 * 2**20
        assert contents(path) == wanted
        capture = Capture(str(path))
        header, scan = capture.header(), capture.scan()
        assert (header["mode"], header["compressed"]) == (mode, compressed > 0)
        for key in ("start_ns", "end_ns", "cpus", "events", "lost_events", "notes"):
            assert scan[key] == answer.scan[key], key


def large() -> Recording:
    rng = random.Random(1)
    lanes = []
    for number in range(2):
        happenings: list[h.Happening] = []
        now = 1_000_000_000
        for poll in range(700):
            # Names that hardly pack, so that more is left than the megabyte that readers like.
            device = b64encode(rng.randbytes(939)).decode()
            now += rng.randrange(5_000, 50_000)
            happenings += (
                h.SoftirqRaise(now, NET_RX),
                h.SoftirqEntry(now + rng.randrange(900), NET_RX),
                h.NapiPoll(now + 1_000 + rng.randrange(900), device, poll % 65),
                h.SoftirqExit(now + 2_000 + rng.randrange(900), NET_RX),
            )
            if poll % 100 == 99:
                happenings.append(h.Flush(now + 3_000))
        lanes.append(cpu(number, *happenings, task=OPENSSL))
    return recording(*lanes, known=(OPENSSL,))


def test_the_header_says_which_machine_it_was(tmp_path: Path) -> None:
    clocks = (None, "monotonic", "monotonic_raw", "boottime", "realtime", "tai")
    for mode in ("file", "pipe", "version 1", "chrome pipe"):
        for (name, machine), clock in zip(
            [*MACHINES.items(), ("x86_64", MACHINES["x86_64"])], clocks, strict=True
        ):
            told = story(machine=machine, attr_size=104, clock=clock)
            header = Capture(str(told.write(tmp_path / "perf.data", mode))).header()
            wanted = {
                "byte_order": {"<": "little", ">": "big"}[machine.order],
                "word_bytes": machine.word,
                "version": 1 if mode == "version 1" else 2,
                "clock": clock or "perf",
                "hostname": "described",
                "os_release": "6.18.0",
                "arch": "x86_64",
                "tool_version": "6.1.187",
                "nr_cpus": 2,
                "cmdline": ["perf", "record", "-a"],
            }
            assert {name: header[name] for name in wanted} == wanted
