# One timeline, told by every machine in every container: the answers are the same.

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis._native import Capture
from support.examples import examples
from support.host import Fresh
from support.narrator import recordings
from support.narrowed import narrowed
from support.native_tables import Answer, assert_conserved, gaps, rows
from support.oracle import perf_handler
from support.perfdata import (
    MACHINES,
    Machine,
    Mmap,
    Mmap2,
    Recording,
    SampleType,
)
from support.perfdata.attr import READ_GROUP, READ_ID
from support.perfdata.records import KernelSymbol
from support.story import described, seen, story

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
        attr = {"read_format": self.read_format, "precise_ip": self.precise_ip}
        return replace(
            told,
            machine=self.machine,
            sample_type=self.sample_type,
            attr_size=self.attr_size,
            attr=attr,
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


def test_the_header_says_which_machine_it_was(tmp_path: Path) -> None:
    for mode in ("file", "pipe", "version 1", "chrome pipe"):
        for name in MACHINES:
            machine = MACHINES[name]
            path = story(machine=machine, attr_size=104).write(tmp_path / "perf.data", mode)
            header = Capture(str(path)).header()
            order = {"<": "little", ">": "big"}[machine.order]
            version = 1 if mode == "version 1" else 2
            assert (header["byte_order"], header["word_bytes"], header["version"]) == (
                order,
                machine.word,
                version,
            )
            # What the features say: strings and numbers in the recorder's order.
            said = (
                header["hostname"],
                header["tool_version"],
                header["nr_cpus"],
                header["cmdline"],
            )
            assert said == ("described", "6.1.187", 2, ["perf", "record", "-a"])
            assert header["clock"] == "monotonic"


# The kernel's formats, the events' payloads and everything around them, in the eyes of perf. In
# pipes of foreign byte order perf 6.1 turns words around, but does not tell its events so: two
# halves of a word stay exchanged, and it refuses the first payload.
@pytest.mark.parametrize("mode", ["file", "version 1", "directory"])
def test_perf_reads_the_same_of_every_machine(fresh: Fresh, mode: str) -> None:
    for name in FOREIGN:
        folder = fresh()
        told = replace(narrowed(story()), machine=MACHINES[name], attr_size=104)
        path = told.write(folder / "perf.data", mode)
        assert seen(perf_handler(path, folder)) == described(told)
