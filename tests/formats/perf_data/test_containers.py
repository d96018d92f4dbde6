# One described timeline in every container and dress that perf has for it: the answers are the
# same.

import subprocess
import sys
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis._native import Capture, CaptureError
from support.host import ROOT, Fresh
from support.long_story import S, story
from support.native_tables import Answer, assert_conserved, rows
from support.perfdata import (
    USUAL,
    Attr,
    Auxtrace,
    Comm,
    Fork,
    Header,
    Mmap2,
    Other,
    Record,
    SampleType,
    Throttle,
    Where,
    write_file,
    write_pipe,
)


def answers(path: Path) -> Any:
    got = Answer(path)
    assert_conserved(got)
    events = {name: rows(table) for name, table in Capture(str(path)).all_events().items()}
    return events, got.tables, got.sums, got.scan["events"]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return answers(story().write(tmp_path_factory.mktemp("plain") / "perf.data"))


def test_every_container_reads_the_same(fresh: Fresh, expected: Any) -> None:
    for mode, compressed in (
        ("file", 1),
        ("file", 2),
        ("pipe", 0),
        ("pipe", 1),
        ("pipe", 2),
        ("directory", 0),
    ):
        folder = fresh()
        path = story().write(folder / "perf.data", mode, compressed)
        assert answers(path) == expected
        header = Capture(str(path)).header()
        assert (header["mode"], header["compressed"]) == (mode, compressed > 0)


def test_every_attr_size_reads_the_same(tmp_path: Path, expected: Any) -> None:
    for size, mode in zip((112, 120, 128, 136, 144), cycle(("file", "pipe"))):
        assert answers(story(attr_size=size).write(tmp_path / "perf.data", mode)) == expected


def test_any_sample_type_with_raw_reads_the_same(tmp_path: Path, expected: Any) -> None:
    for kinds in (
        USUAL | SampleType.ADDR | SampleType.ID | SampleType.STREAM_ID,
        USUAL | SampleType.READ | SampleType.CALLCHAIN,
        USUAL & ~SampleType.IDENTIFIER | SampleType.ID,
        SampleType.ID | SampleType.TIME | SampleType.CPU | SampleType.RAW,
    ):
        assert answers(story(sample_type=kinds).write(tmp_path / "perf.data")) == expected


# Records that say nothing about networking, of every size, between those that do.
def test_other_records_are_skipped_by_their_size(tmp_path: Path, expected: Any) -> None:
    told = story()
    noise: list[Record] = [
        Auxtrace(b"\x09\x00\x00\x00\x00\x00\x40\x00" * 33),
        Mmap2(500, 0x400000, 4096, "/usr/bin/openssl", Where(0, S)),
        Comm(700, 700, "other", Where(0, S)),
        Fork(700, 1, 700, 1, S, Where(0, S)),
        Fork(700, 1, 700, 1, S, Where(0, S), exits=True),
        Throttle(Where(1, S), unthrottle=True),
        Other(200, b"\xff" * 24),
        Other(68 + 14, b""),
        Other(18, bytes(16)),
    ]
    mixed: list[Record] = []
    for number, record in enumerate(told.records()):
        mixed += (record, noise[number % len(noise)])
    path = tmp_path / "perf.data"
    header = Header(clock="monotonic")
    for write in (write_file, write_pipe):
        path.write_bytes(write(told.attrs(), told.formats, mixed, header))
        assert answers(path) == expected


# A recorder that was killed leaves data_size at 0 and no features, so no formats: the records can
# be counted and nothing else.
def test_an_unfinished_file_is_counted_or_refused_in_one_line(tmp_path: Path) -> None:
    told = story()
    path = told.write(tmp_path / "perf.data", "unfinished")
    try:
        capture = Capture(str(path))
        header, scan = capture.header(), capture.scan()
    except CaptureError as error:
        if "\n" in str(error):
            raise
        return
    assert header["finished"] is False
    assert scan["records"]["SAMPLE"] == len(told.events())


# A finished pipe says so by nothing but its end.
def test_a_pipe_cut_in_a_record_gives_what_came_before(tmp_path: Path) -> None:
    told = story()
    path = tmp_path / "perf.data"
    whole = write_pipe(told.attrs(), told.formats, told.records(), Header(clock="monotonic"))
    path.write_bytes(whole[: -len(whole) // 3])
    try:
        scan = Capture(str(path)).scan()
    except CaptureError as error:
        if "\n" in str(error):
            raise
        return
    assert 0 < scan["records"]["SAMPLE"] < len(told.events())


def test_standard_input_is_read_like_a_file(tmp_path: Path) -> None:
    path = story().write(tmp_path / "perf.data", "pipe")
    code = (
        "from netcost_analysis._native import Capture; import json; capture = Capture('-');"
        "print(json.dumps([capture.scan()['events'], capture.header()['mode']]))"
    )
    with path.open("rb") as stream:
        done = subprocess.run(
            [sys.executable, "-c", code], stdin=stream, capture_output=True, cwd=ROOT
        )
    assert done.returncode == 0, done.stderr
    assert b'"pipe"' in done.stdout
    assert b'"napi:napi_poll": 400' in done.stdout


# Two attrs with different sample types: which one a record follows, its id says.
def test_several_attrs_with_different_sample_types(tmp_path: Path) -> None:
    told = story()
    attrs = [
        Attr(
            one.name,
            one.config,
            one.ids,
            sample_type=USUAL
            | (SampleType.ADDR | SampleType.CALLCHAIN if place % 2 else SampleType(0)),
            clock="monotonic",
        )
        for place, one in enumerate(told.attrs())
    ]
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(attrs, told.formats, told.records(), Header(clock="monotonic")))
    got = Answer(path)
    assert got.scan["events"]["napi:napi_poll"] == 400
    assert_conserved(got)


def test_the_header_says_what_was_described(tmp_path: Path) -> None:
    words = ("perf", "record", "-a", "-k", "CLOCK_MONOTONIC")
    header = Header(hostname="described", nr_cpus=64, cmdline=words, tool_version="6.12.9")
    path = story(header=header, clock="boottime").write(tmp_path / "perf.data")
    said = Capture(str(path)).header()
    wanted = {
        "format": "perf.data",
        "mode": "file",
        "byte_order": "little",
        "tool_version": "6.12.9",
        "os_release": "6.18.0",
        "arch": "x86_64",
        "hostname": "described",
        "nr_cpus": 64,
        "clock": "boottime",
        "cmdline": list(words),
    }
    assert {name: said[name] for name in wanted} == wanted
    assert "irq:softirq_entry" in [one["name"] for one in said["events"]]


def test_the_clock_comes_from_the_attr(tmp_path: Path) -> None:
    for clock in (None, "monotonic", "monotonic_raw", "boottime", "realtime", "tai"):
        path = story(clock=clock).write(tmp_path / "perf.data")
        assert Capture(str(path)).header()["clock"] == (clock or "perf")


def test_what_is_no_capture_is_refused_in_one_line(tmp_path: Path) -> None:
    for content in (
        b"",
        b"PERFILE2",
        b"PERFILE2" + bytes(8),
        b"\x7fELF" + bytes(200),
        b"text\n" * 50,
    ):
        path = tmp_path / "perf.data"
        path.write_bytes(content)
        with pytest.raises(CaptureError) as refused:
            Capture(str(path)).scan()
        assert "\n" not in str(refused.value)
    with pytest.raises(FileNotFoundError):
        Capture(str(tmp_path / "absent"))


def test_progress_is_told_and_ends_at_one(tmp_path: Path) -> None:
    path = story().write(tmp_path / "perf.data")
    told: list[float] = []
    Capture(str(path)).timeline(["segments"], progress=told.append)
    assert all(0 <= one <= 1 for one in told)
    assert told == sorted(told)
