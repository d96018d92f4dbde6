# Samples of this machine, recorded in every way it allows, against what perf says of the same file:
# every sample, every column.

import gzip
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import open_capture
from netcost_analysis.capture.capture import Capture
from netcost_analysis.display.export import rows
from support.host import ROOT, missing, require_root_tracing, require_tool
from support.oracle import dumped_samples, run
from support.perfdata.sample import CPU_MODES

pytestmark = pytest.mark.live

LOAD = [sys.executable, str(ROOT / "tests" / "support" / "sample_load.py"), "0.15"]
CLOCK = ("-e", "cpu-clock", "-F", "997")
FAULTS = ("-e", "page-faults", "-c", "1")
GROUP = ("-e", "{cpu-clock,page-faults}:S", "-F", "997")

# Each records what the others do not; the machine may refuse some.
WAYS: dict[str, tuple[str, ...]] = {
    "callchains": (*CLOCK, "-g"),
    "period": ("-e", "cpu-clock", "-c", "1000000"),
    "two events": ("-e", "cpu-clock:u,page-faults", "-F", "997", "-g", "--sample-identifier"),
    "default event": ("-F", "997"),
    "host": (*CLOCK, "-g", "-a", "-C", "0", "-k", "CLOCK_MONOTONIC"),
    "switches": (*CLOCK, "--switch-events", "--sample-cpu"),
    "namespaces": (*CLOCK, "--namespaces"),
    "counts": (*CLOCK, "-s"),
    "per thread": (*CLOCK, "--per-thread", "-T"),
    "addresses": (*FAULTS, "-d"),
    "physical addresses": (*FAULTS, "--phys-data"),
    "weights": (*CLOCK, "-W"),
    "transactions": (*CLOCK, "--transaction"),
    "registers": (*CLOCK, "--user-regs=ip,sp", "--intr-regs=ip,sp", "-g"),
    "stacks": (*CLOCK, "--call-graph", "dwarf,1024"),
    "group": GROUP,
    "group with times": (*GROUP, "--running-time", "-g"),
    "build ids": (*CLOCK, "--buildid-mmap"),
    # It names no task itself: what a switch says of names given on other CPUs perf does not know.
    "tracepoint": ("-e", "irq:softirq_entry", "-c", "1", "-g", "-a", "-C", "0"),
    "overwritten": (*CLOCK, "-a", "-C", "0", "--overwrite"),
    "everything": (*FAULTS, *("-g", "-d", "-W", "--phys-data", "--data-page-size", "--sample-cpu")),
    # Containers: a path that ends in .pipe is written as a pipe's stream.
    "compressed": (*CLOCK, "-z", "-g"),
    "threads": (*CLOCK, "-g", "-a", "--threads"),
    "stream.pipe": (*CLOCK, "-g"),
    "compressed stream.pipe": (*CLOCK, "-g", "-z"),
}
# Whoever asks for build ids marks the mappings of all who record beside it, and their perf dies.
ALONE = {"build ids": pytest.mark.alone}


# bpf: with records of BPF programs, for which perf has a thread that takes a second to end.
def perf_record(path: Path, *options: str, load: list[str] = LOAD, bpf: bool = False) -> Path:
    perf, taskset = require_tool("perf"), require_tool("taskset")
    target = "-" if path.suffix == ".pipe" else str(path)
    command = [perf, "record", "-q", "-N", "-B", "-o", target, *options]
    command += [] if bpf else ["--no-bpf-event"]
    with (path if target == "-" else Path(os.devnull)).open("wb") as out:
        done = subprocess.run(
            [*command, "--", taskset, "-c", "0", *load],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    if done.returncode != 0:
        # What perf can record depends on the machine; that it records at all does not.
        refusal = f"this machine refuses {' '.join(options)}: {done.stderr.strip()[-200:]}"
        (missing if {*options} <= {*CLOCK, "-g"} else pytest.skip)(refusal)
    return path


# What `perf script` says of a recording beyond the bytes of its samples: whose they are and of
# which event, what was mapped, which kernel symbols came and went.
SAMPLE = re.compile(
    r"\s*(?P<comm>.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+"
    r"(?P<s>\d+)\.(?P<ns>\d{9}):\s+(?P<event>\S+):"
)
MAPPING = re.compile(
    r"PERF_RECORD_MMAP2? (?P<pid>-?\d+)/(?P<tid>-?\d+): \[(?P<address>\w+)\((?P<length>\w+)\) @ "
    r"(?P<page_offset>\w+)(?: <(?P<build_id>\w*)>| [^\]]*)?\]: (?P<access>\S+) (?P<filename>.*)$"
)
SYMBOL = re.compile(
    r"PERF_RECORD_KSYMBOL addr (?P<address>\w+) len (?P<length>\d+) type \d+ "
    r"flags 0x(?P<flags>\w+) name (?P<name>.*)$"
)
# enum perf_callchain_context: whose frames follow. Other numbers up there are no marks but what
# a task without frame pointers had on its stack.
USERS = {2**64 - 512, 2**64 - 2560}
OTHERS = {2**64 - one for one in (32, 128, 2048, 2176)}
MODES = {number: name for name, number in CPU_MODES.items()}


@dataclass
class Listing:
    samples: list[dict[str, Any]] = field(default_factory=list)
    mappings: list[dict[str, Any]] = field(default_factory=list)
    symbols: list[dict[str, Any]] = field(default_factory=list)


# Samples in the order of time. grouped: perf lists a group's sample once for each event that
# counted something; the first is the one that sampled.
def listing(path: Path, grouped: bool = False) -> Listing:
    shown = ("--show-mmap-events", "--show-bpf-events", "--ns", "-G")
    fields = ("-F", "comm,pid,tid,time,event")
    found, lines = Listing(), []
    for line in run(require_tool("perf"), "script", "-f", *shown, *fields, "-i", path).splitlines():
        if match := MAPPING.search(line):
            said = match.groupdict()
            numbers = ("pid", "tid", "address", "length", "page_offset")
            one = {name: int(said[name], 0) for name in numbers}
            one |= {"filename": said["filename"], "executable": "x" in said["access"]}
            found.mappings.append(one | {"build_id": said["build_id"] or None})
        elif match := SYMBOL.search(line):
            one = {"address": int(match["address"], 16), "length": int(match["length"])}
            one |= {"unregistered": int(match["flags"], 16) > 0, "name": match["name"]}
            found.symbols.append(one)
        elif "PERF_RECORD_" not in line and (match := SAMPLE.match(line)):
            lines.append(match)
    if grouped:
        lines = [one for one in lines if one["event"] == lines[0]["event"]]
    # Of several files, perf takes what is of the same time in no particular order.
    dumped = sorted(dumped_samples(path), key=lambda one: (one["time"], one["tid"]))
    for one, line in zip(dumped, sorted(lines, key=when_and_who), strict=True):
        assert (one["time"], one["tid"]) == when_and_who(line)
        found.samples.append({**one, "comm": line["comm"], "event": line["event"]})
    return found


def when_and_who(line: re.Match[str]) -> tuple[int, int]:
    return int(line["s"] + line["ns"]), int(line["tid"])


# A chain without its marks, and how many of its frames, up to the last such, are not the task's.
def frames(chain: list[int]) -> tuple[list[int], int]:
    found: list[int] = []
    kernel, in_user = 0, False
    for one in chain:
        if one in USERS | OTHERS:
            in_user = one in USERS
        else:
            found.append(one)
            kernel = kernel if in_user else len(found)
    return found, kernel


# What a sample may hold besides, and perf prints.
ADDED = {
    *("addr", "phys_addr", "data_src", "transaction", "weight", "weight2"),
    *("time_enabled_ns", "time_running_ns"),
}
COLUMNS = ("time_ns", "cpu", "pid", "tid", "comm", "cpu_mode", "ip", "period")


def by_time(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(samples, key=lambda one: (one.get("time", one.get("time_ns")), one["tid"]))


# Every event's every sample, with every column that perf shows.
def assert_same(capture: Capture, said: Listing) -> None:
    assert said.samples
    for event in {one["event"] for one in said.samples}:
        theirs = by_time([one for one in said.samples if one["event"] == event])
        got = by_time(rows(capture.samples(event)))
        assert capture.info["events"][event] == len(theirs)
        for mine, one in zip(got, theirs, strict=True):
            # Where the record of a task's beginning was lost, perf has no name for it; here it has
            # its first one from its beginning on.
            named = mine["comm"] if one["comm"] == f":{one['tid']}" else one["comm"]
            wanted = {**one, "time_ns": one["time"], "cpu_mode": MODES[one["misc"] & 7]}
            wanted["comm"] = named
            assert [mine[name] for name in COLUMNS] == [wanted.get(name) for name in COLUMNS]
            chain = frames(one["callchain"]) if "callchain" in one else (None, None)
            assert (mine["callchain"], mine["kernel_frames"]) == chain
            assert {name: mine[name] for name in ADDED & {*mine}} == {
                name: one[name] for name in ADDED & {*mine}
            }
    assert sum(capture.info["events"].values()) == len(said.samples)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_root_tracing()
    return tmp_path_factory.mktemp("samples")


@pytest.mark.parametrize("way", [pytest.param(one, marks=ALONE.get(one, ())) for one in WAYS])
def test_samples_and_mappings_are_those_that_perf_reads(folder: Path, way: str) -> None:
    options = WAYS[way]
    path = perf_record(folder / way.replace(" ", "-"), *options)
    said, capture = listing(path, grouped="group" in way), open_capture(path)
    assert_same(capture, said)
    assert said.mappings
    names = list(said.mappings[0])
    got = [{name: row[name] for name in names} for row in rows(capture.mappings())]
    assert sorted(got, key=str) == sorted(said.mappings, key=str)
    # What it was recorded for is there: a test of nothing would pass all the same.
    attrs = {one["name"]: one for one in capture.info["event_attrs"]}
    name, how = max(attrs.items(), key=lambda item: capture.info["events"].get(item[0], 0))
    assert how["has_callchain"] is ("-g" in options or "--call-graph" in options)
    assert how["frequency"] == (997 if "-F" in options else None)
    if "-c" in options:
        assert how["period"] == int(options[options.index("-c") + 1])
    columns = {"-d": "addr", "--phys-data": "phys_addr", "--data-page-size": "data_page_size"}
    columns |= {"-W": "weight", "--transaction": "transaction"}
    asked = {column for option, column in columns.items() if option in options}
    assert asked <= {*capture.samples(name).columns}
    recorded = {"--namespaces": "NAMESPACES", "--switch-events": "SWITCH", "-s": "READ"}
    for option in recorded.keys() & {*options}:
        assert capture.info["records"][recorded[option]]


# The counts that a group's leader read with each sample, by perf's ids of the events.
def test_a_groups_counts(folder: Path) -> None:
    path = perf_record(folder / "read", *GROUP, "--running-time")
    capture = open_capture(path)
    got = by_time(rows(capture.samples("cpu-clock")))
    names = ("read:cpu-clock", "read:page-faults")
    assert [[one[name] for name in names] for one in got] == [
        list(one["counts"].values()) for one in by_time(listing(path, grouped=True).samples)
    ]
    assert len(got) > 10
    assert len(capture.samples("page-faults")) == 0


# perf prints a page's size in its own words.
def test_page_sizes(folder: Path) -> None:
    options = (*FAULTS, "-d", "--data-page-size", "--code-page-size")
    path = perf_record(folder / "pages", *options)
    fields = "time,data_page_size,code_page_size"
    lines = run("perf", "script", "--ns", "-F", fields, "-i", path).splitlines()
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


def test_cgroups(folder: Path) -> None:
    path = perf_record(folder / "cgroup", *CLOCK, "--all-cgroups")
    [mine] = re.findall("^0::/?(.*)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)
    try:
        number = (Path("/sys/fs/cgroup") / mine).stat().st_ino
    except OSError:
        missing("needs the unified cgroup hierarchy on /sys/fs/cgroup")
    assert set(open_capture(path).samples("cpu-clock")["cgroup"]) == {number}


@pytest.mark.parametrize("way", ["injected", "gzip"])
def test_what_others_made_of_a_recording(folder: Path, way: str) -> None:
    path, made = perf_record(folder / way, *CLOCK, "-g"), folder / f"{way}.made"
    if way == "injected":
        run("perf", "inject", "-b", "-i", path, "-o", made)
    else:
        made.write_bytes(gzip.compress(path.read_bytes()))
    assert_same(open_capture(made), listing(path))


@pytest.fixture
def uprobe(folder: Path) -> Iterator[str]:
    name = f"netcost_test_{os.getpid()}"
    with open("/proc/self/maps") as maps:
        libraries = {line.split()[-1] for line in maps if "/libc.so" in line or "/libc-" in line}
    probe = ["perf", "probe", "-q", "-x", min(libraries, default="libc"), f"{name}=getppid"]
    done = subprocess.run(probe, capture_output=True, text=True)
    if done.returncode != 0:
        missing(f"this machine has no uprobes: {done.stderr.strip()[-200:]}")
    (event,) = (word for word in run("perf", "probe", "-l").split() if word.endswith(f":{name}"))
    yield event
    run("perf", "probe", "-q", "-d", event)


def test_uprobes(folder: Path, uprobe: str) -> None:
    path = perf_record(folder / "uprobe", "-e", uprobe, "-c", "1", "-g")
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
    path = perf_record(folder / "symbols", *CLOCK, "-a", load=load, bpf=True)
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
    path = perf_record(folder / "losses", "-m", "1", "-e", large, "-e", "page-faults")
    capture = open_capture(path)
    assert_same(capture, listing(path))
    listed = run("perf", "report", "--stats", "-i", path)
    counts = {name: int(n) for name, n in re.findall(r"^ *(\S+) events: +(\d+)", listed, re.M)}
    assert capture.info["records"]["LOST"] == counts["LOST"]
    # Here perf adds up what the records say; beyond samples, LOST counts other records too.
    assert capture.info["lost_events"] >= counts["LOST_SAMPLES"] > 0
