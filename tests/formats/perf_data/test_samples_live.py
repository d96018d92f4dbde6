# Samples of this machine, recorded in every way it allows, against what perf says of the same file:
# every sample, every column.

import gzip
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import open_capture
from netcost_analysis.capture.capture import Capture
from netcost_analysis.display.export import rows
from support.host import missing, require_root_tracing
from support.perf_listing import Listing, frames, listing
from support.sampling import CLOCK, FAULTS, GROUP, WAYS, perf_record

pytestmark = pytest.mark.live

MODES = {
    0: "unknown",
    1: "kernel",
    2: "user",
    3: "hypervisor",
    4: "guest kernel",
    5: "guest user",
}
# What a sample may hold besides, and perf prints.
ADDED = {
    *("addr", "phys_addr", "data_src", "transaction", "weight", "weight2"),
    *("time_enabled_ns", "time_running_ns"),
}

COLUMNS = ("time_ns", "cpu", "pid", "tid", "comm", "cpu_mode", "ip", "period")
Told = tuple[Any, ...]


def told(seen: dict[str, Any]) -> Told:
    chain = frames(seen["callchain"]) if "callchain" in seen else (None, None)
    said = {**seen, "time_ns": seen["time"], "cpu_mode": MODES[seen["misc"] & 7]}
    return (*(said.get(name) for name in COLUMNS), *chain)


def read(row: dict[str, Any]) -> Told:
    return (*(row[name] for name in COLUMNS), row["callchain"], row["kernel_frames"])


def by_time(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(samples, key=lambda one: (one.get("time", one.get("time_ns")), one["tid"]))


# Every event's every sample, with every column that perf shows.
def assert_same(capture: Capture, said: Listing) -> None:
    assert said.samples
    for event in {one["event"] for one in said.samples}:
        wanted = by_time([one for one in said.samples if one["event"] == event])
        got = by_time(rows(capture.samples(event)))
        for mine, theirs in zip(got, wanted, strict=True):
            # Where the record of a task's beginning was lost, perf has no name for it; here it has
            # its first one from its beginning on.
            if theirs["comm"] == f":{theirs['tid']}":
                theirs["comm"] = mine["comm"]
        assert [read(one) for one in got] == [told(one) for one in wanted]
        assert capture.info["events"][event] == len(wanted)
        for name in ADDED & set(got[0]):
            assert [one[name] for one in got] == [one[name] for one in wanted], name
    assert sum(capture.info["events"].values()) == len(said.samples)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_root_tracing()
    return tmp_path_factory.mktemp("samples")


Recorded = tuple[str, Path, Listing]


# Whoever asks for build ids marks the mappings of all who record beside it, and their perf dies.
ALONE = {"build ids": pytest.mark.alone}


@pytest.fixture(
    scope="module", params=[pytest.param(way, marks=ALONE.get(way, ())) for way in WAYS]
)
def recorded(request: pytest.FixtureRequest, folder: Path) -> Recorded:
    way = request.param
    path = perf_record(folder / f"{way.replace(' ', '-')}.perf.data", *WAYS[way])
    return way, path, listing(path, grouped="group" in way)


def test_samples_are_those_that_perf_reads(recorded: Recorded) -> None:
    _, path, said = recorded
    assert_same(open_capture(path), said)


# What each was recorded for is there: a test of nothing would pass all the same.
def test_what_was_asked_for_was_recorded(recorded: Recorded) -> None:
    way, path, _ = recorded
    capture = open_capture(path)
    attrs = {one["name"]: one for one in capture.info["event_attrs"]}
    name, how = max(attrs.items(), key=lambda item: capture.info["events"].get(item[0], 0))
    columns = set(capture.samples(name).columns)
    options = WAYS[way]
    assert how["has_callchain"] is ("-g" in options or "--call-graph" in options)
    assert how["frequency"] == (997 if "-F" in options else None)
    if "-c" in options:
        assert how["period"] == int(options[options.index("-c") + 1])
    for option, column in (
        ("-d", "addr"),
        ("--phys-data", "phys_addr"),
        ("--data-page-size", "data_page_size"),
        ("--code-page-size", "code_page_size"),
        ("-W", "weight"),
        ("--transaction", "transaction"),
    ):
        assert option not in options or column in columns
    records = capture.info["records"]
    assert "--namespaces" not in options or records["NAMESPACES"]
    assert "--switch-events" not in options or records["SWITCH"]
    assert "-s" not in options or records["READ"]


def test_mappings_are_those_that_perf_reads(recorded: Recorded) -> None:
    _, path, said = recorded
    assert said.mappings
    names = list(said.mappings[0])
    got = [{name: row[name] for name in names} for row in rows(open_capture(path).mappings())]
    assert sorted(got, key=str) == sorted(said.mappings, key=str)


# The counts that a group's leader read with each sample, by perf's ids of the events.
def test_a_groups_counts(folder: Path) -> None:
    path = perf_record(folder / "read.perf.data", *GROUP, "--running-time")
    capture = open_capture(path)
    got = by_time(rows(capture.samples("cpu-clock")))
    wanted = by_time(listing(path, grouped=True).samples)
    names = ("read:cpu-clock", "read:page-faults")
    assert [[one[name] for name in names] for one in got] == [
        list(one["counts"].values()) for one in wanted
    ]
    assert len(got) > 10
    assert len(capture.samples("page-faults")) == 0


# perf prints a page's size in its own words.
def test_page_sizes(folder: Path) -> None:
    options = (*FAULTS, "-d", "--data-page-size", "--code-page-size")
    path = perf_record(folder / "pages.perf.data", *options)
    fields = "time,data_page_size,code_page_size"
    script = ["perf", "script", "--ns", "-F", fields, "-i", str(path)]
    lines = subprocess.run(script, check=True, capture_output=True, text=True).stdout.splitlines()
    sizes = {
        "N/A": 0,
        "4K": 4 << 10,
        "16K": 16 << 10,
        "64K": 64 << 10,
        "2M": 2 << 20,
        "1G": 1 << 30,
    }
    wanted = [[sizes[word] for word in line.split()[-2:]] for line in lines]
    got = by_time(rows(open_capture(path).samples("page-faults")))
    assert [[one["data_page_size"], one["code_page_size"]] for one in got] == wanted
    assert {0, 4096} <= {size for sizes_ in wanted for size in sizes_}


def cgroup_id(pid: str = "self") -> int:
    (line,) = (
        one for one in Path(f"/proc/{pid}/cgroup").read_text().splitlines() if one.startswith("0::")
    )
    return (Path("/sys/fs/cgroup") / line[3:].lstrip("/")).stat().st_ino


def test_cgroups(folder: Path) -> None:
    path = perf_record(folder / "cgroup.perf.data", *CLOCK, "--all-cgroups")
    frame = open_capture(path).samples("cpu-clock")
    try:
        mine = cgroup_id()
    except (OSError, ValueError):
        missing("needs the unified cgroup hierarchy on /sys/fs/cgroup")
    assert set(frame["cgroup"]) == {mine}


@pytest.mark.parametrize("way", ["pipe", "compressed pipe", "threads", "injected", "gzip"])
def test_containers(folder: Path, way: str) -> None:
    name = way.replace(" ", "-")
    options = (*CLOCK, "-g")
    if way == "threads":
        path = perf_record(folder / name, *options, "-a", "--threads")
    elif "pipe" in way:
        compress = ["-z"] if "compressed" in way else []
        path = perf_record(folder / f"{name}.pipe", *options, *compress)
    else:
        path = perf_record(folder / f"{name}.perf.data", *options)
    capture = path
    if way == "injected":
        capture = folder / "injected"
        command = ["perf", "inject", "-b", "-i", str(path), "-o", str(capture)]
        subprocess.run(command, check=True, capture_output=True)
    elif way == "gzip":
        capture = folder / "perf.data.gz"
        capture.write_bytes(gzip.compress(path.read_bytes()))
        assert open_capture(capture).info["wrapped"] == "gzip"
    assert_same(open_capture(capture), listing(path))


@pytest.fixture
def uprobe(folder: Path) -> Iterator[str]:
    name = f"netcost_test_{os.getpid()}"
    with open("/proc/self/maps") as maps:
        libraries = {line.split()[-1] for line in maps if "/libc.so" in line or "/libc-" in line}
    probe = ["perf", "probe", "-q", "-x", min(libraries, default="libc"), f"{name}=getppid"]
    done = subprocess.run(probe, capture_output=True, text=True)
    if done.returncode != 0:
        missing(f"this machine has no uprobes: {done.stderr.strip()[-200:]}")
    listed = subprocess.run(["perf", "probe", "-l"], capture_output=True, text=True).stdout
    (event,) = (word for word in listed.split() if word.endswith(f":{name}"))
    yield event
    subprocess.run(["perf", "probe", "-q", "-d", event], check=True, capture_output=True)


def test_uprobes(folder: Path, uprobe: str) -> None:
    path = perf_record(folder / "uprobe.perf.data", "-e", uprobe, "-c", "1", "-g")
    capture, said = open_capture(path), listing(path)
    assert_same(capture, said)
    events = capture.events(uprobe)
    assert len(events) == len(said.samples) > 10
    # The probe's one field is where it stands.
    assert set(events["__probe_ip"]) == set(capture.samples(uprobe)["ip"])


PROGRAM = """
import ctypes, struct, sys, time
code = ctypes.create_string_buffer(struct.pack("<BBhiBBhi", 0xb7, 0, 0, 0, 0x95, 0, 0, 0))
licence = ctypes.create_string_buffer(b"GPL")
fields = (1, 2, ctypes.addressof(code), ctypes.addressof(licence), 0, 0, 0, 0, 0, b"netcost", 0)
attr = ctypes.create_string_buffer(struct.pack("<IIQQIIQII16sI", *fields), 128)
loaded = ctypes.CDLL(None).syscall(321, 5, attr, 72)
time.sleep(0.05)
sys.exit(loaded < 0)
"""


# A BPF program that is loaded, does nothing and goes: perf's word for kernel code that comes and
# goes.
def test_kernel_symbols(folder: Path) -> None:
    if os.uname().machine != "x86_64":
        missing("knows the bpf system call's number on x86_64 only")
    load = [sys.executable, "-c", PROGRAM]
    path = perf_record(folder / "symbols.perf.data", *CLOCK, "-a", load=load, bpf=True)
    capture = open_capture(path)
    said, got = listing(path), rows(capture.kernel_symbols())
    assert [{name: row[name] for name in said.symbols[0]} for row in got] == said.symbols
    mine = [row for row in got if row["name"].endswith("_netcost")]
    assert [(row["kind"], row["unregistered"]) for row in mine] == [("bpf", False), ("bpf", True)]
    # Programs that others had loaded before are told of in one record or in both.
    assert capture.info["records"]["BPF_EVENT"] >= len(mine)


# No sample with a page of stack has room in a ring of one page, however quick perf is: what is left
# equals perf's, what is lost is said.
def test_losses(folder: Path) -> None:
    large = "cpu-clock/freq=997,call-graph=dwarf,stack-size=4096/"
    path = perf_record(folder / "losses.perf.data", "-m", "1", "-e", large, "-e", "page-faults")
    capture, said = open_capture(path), listing(path)
    assert_same(capture, said)
    listed = subprocess.run(
        ["perf", "report", "--stats", "-i", str(path)], capture_output=True, text=True
    ).stdout
    counts = {
        words[0]: int(words[2])
        for words in map(str.split, listed.splitlines())
        if len(words) > 2 and words[1] == "events:"
    }
    assert capture.info["records"]["LOST"] == counts["LOST"]
    # Here perf adds up what the records say; beyond samples, LOST counts other records too.
    assert capture.info["lost_events"] >= counts["LOST_SAMPLES"] > 0
