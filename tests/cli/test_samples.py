# What the command line says of samples that are no tracepoints', and of recorders unlike this one.

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from netcost_analysis import CaptureError, open_capture
from netcost_analysis.cli.events import event_table
from support.host import ROOT
from support.perfdata import (
    MACHINES,
    Attr,
    Header,
    IdIndex,
    Mmap2,
    Sample,
    SampleType,
    Where,
    wrapped,
    write_file,
)
from support.perfdata import tracepoints as t
from support.perfdata.attr import READ_GROUP, READ_ID, TYPE_HARDWARE, TYPE_SOFTWARE
from support.perfdata.records import KernelSymbol
from support.perfdata.sample import CONTEXT_KERNEL, CONTEXT_USER
from support.run_cli import Netcost
from support.stacks import CYCLES as STACKS
from support.stacks import NOWHERE, Stack, capture_of, stack

T = SampleType
KINDS = T.IDENTIFIER | T.IP | T.TID | T.TIME | T.CPU | T.PERIOD
FLAGS = frozenset({"sample_id_all", "freq"})
CYCLES = Attr("cycles:u", 0, (10,), TYPE_HARDWARE, KINDS | T.CALLCHAIN | T.ADDR, 4000, flags=FLAGS)
FAULTS = Attr("page-faults", 2, (20,), TYPE_SOFTWARE, KINDS, 100, flags=FLAGS - {"freq"})
SOFTIRQ = Attr(t.SOFTIRQ_ENTRY.event, t.SOFTIRQ_ENTRY.id, (30,))
KERNEL, USER = 0xFFFFFFFF81000010, 0x55D0C0DE0000
CHAIN = (CONTEXT_KERNEL, KERNEL, KERNEL + 32, CONTEXT_USER, USER, USER + 64)
FRAMES = [one for one in CHAIN if one not in (CONTEXT_KERNEL, CONTEXT_USER)]


def told(event: int = 0) -> list[Sample]:
    return [
        Sample(
            Where(number % 2, 1_000 + 500 * number, 70, 70 + number, event),
            ip=FRAMES[0],
            addr=0xABC,
            period=2**62 + 1,
            callchain=() if number == 2 else CHAIN,
        )
        for number in range(3)
    ]


def write(path: Path, **settings: object) -> str:
    records = [
        Mmap2(70, 0x400000, 4096, "/usr/bin/openssl", Where(0, 900, 70, 70)),
        KernelSymbol(0xFFFFFFFFC0000000, 64, "bpf_prog_1", where=Where(0, 950, 0, 0)),
        *told(),
    ]
    data = write_file([CYCLES, FAULTS, SOFTIRQ], [t.SOFTIRQ_ENTRY], records, **settings)  # type: ignore[arg-type]
    path.write_bytes(data)
    return str(path)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("samples") / "perf.data")


def line(text: str, key: str) -> str:
    (found,) = (one for one in text.splitlines() if one.startswith(f"{key} "))
    return found.removeprefix(key).strip()


def test_samples_as_text(netcost: Netcost, path: str) -> None:
    first, *rows = netcost("events", path, "cycles:u").out.splitlines()
    assert first.split() == [
        *("time", "(s)", "cpu", "pid", "tid", "cpu_mode", "ip", "period", "addr", "callchain")
    ]
    kernel, user = f"{KERNEL:x} {KERNEL + 32:x}", f"{USER:x} {USER + 64:x}"
    taken = ["kernel", f"{KERNEL:x}", str(2**62 + 1), "abc", f"{kernel} | {user}"]
    assert [row.split(None, 8) for row in rows[:2]] == [
        ["0.000000000", "0", "70", "70", *taken],
        ["0.000000500", "1", "70", "71", *taken],
    ]
    # Without a chain the row ends before it, and every chain begins in the same column.
    assert rows[2].endswith("abc")
    assert len({row.index(f"{kernel} |") for row in rows[:2]}) == 1


# On a terminal a chain takes what room there is, and says how many frames it leaves out.
@pytest.mark.parametrize(("room", "shown"), [(0, 1), (20, 1), (40, 2), (55, 3), (63, 4), (200, 4)])
def test_a_terminal_cuts_chains(
    netcost: Netcost, path: str, monkeypatch: pytest.MonkeyPatch, room: int, shown: int
) -> None:
    words = [f"{frame:x}" for frame in FRAMES]
    before = netcost("events", path, "cycles:u").out.splitlines()[1].index(f" {KERNEL + 32:x}")
    columns = before - len(words[0]) + room + 2
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    text = netcost("events", path, "cycles:u").out
    (row,) = (one.rstrip() for one in text.splitlines() if " 71 " in one)
    chain = row.split("abc")[1].split()
    left_out = [f"+{len(words) - shown}"] if shown < len(words) else []
    assert [word for word in chain if word != "|"] == [*words[:shown], *left_out]
    assert room < 20 or len(row) <= columns


def test_samples_as_json_csv_and_parquet(netcost: Netcost, path: str, tmp_path: Path) -> None:
    rows = netcost("events", path, "cycles:u", "--json").json
    assert [row["time_ns"] for row in rows] == [1_000, 1_500, 2_000]
    assert [row["callchain"] for row in rows] == [FRAMES, FRAMES, []]
    assert [row["kernel_frames"] for row in rows] == [2, 2, 0]
    assert {row["period"] for row in rows} == {2**62 + 1}
    target = tmp_path / "samples.csv"
    run = netcost("events", path, "cycles:u", "-o", str(target))
    assert set(run.out.split()) >= {"3", "cycles:u", str(target)}
    with target.open(newline="") as text:
        made = list(csv.DictReader(text))
    assert [json.loads(row["callchain"]) for row in made] == [FRAMES, FRAMES, []]
    assert netcost("events", path, "cycles:u", "-o", str(tmp_path / "x.parquet")).code == 0
    frame = pd.read_parquet(tmp_path / "x.parquet")
    assert [list(one) for one in frame["callchain"]] == [FRAMES, FRAMES, []]
    assert frame["ip"].tolist() == [KERNEL] * 3


def test_a_near_miss_is_named_whatever_its_kind(netcost: Netcost, path: str) -> None:
    for given, near in (
        ("cycles", "cycles:u"),
        ("page-fault", "page-faults"),
        ("softirq_entri", "irq:softirq_entry"),
        ("xyz", "cycles:u, irq:softirq_entry, page-faults"),
    ):
        run = netcost("events", path, given)
        assert (run.code, run.err.endswith(f" {near}\n")) == (1, True)


def test_info_says_how_events_were_sampled(netcost: Netcost, path: str) -> None:
    text = netcost("info", path).out
    assert re.split(r"[ (),]+", line(text, "events"))[:4] == ["3", "cycles:u", "4", "000"]
    assert re.search(r"none .*irq:softirq_entry, page-faults$", text, re.MULTILINE)
    assert re.findall(r"\d+ \w+", line(text, "symbols")) == ["1 mapping", "1 kernel"]
    assert line(text, "format").split(", ")[0] == "perf.data"
    attrs = {one["name"]: one for one in netcost("info", path, "--json").json["event_attrs"]}
    assert (attrs["cycles:u"]["frequency"], attrs["cycles:u"]["period"]) == (4000, None)
    assert (attrs["page-faults"]["frequency"], attrs["page-faults"]["period"]) == (None, 100)
    assert [one["tracepoint"] for one in attrs.values()] == [False, False, True]


def test_info_names_periods_and_events_without_samples_are_an_empty_table(
    netcost: Netcost, tmp_path: Path
) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(write_file([CYCLES, FAULTS], [], told(event=1)))
    assert line(netcost("info", str(path)).out, "events").endswith("page-faults (period 100)")
    assert netcost("events", str(path), "cycles:u", "--json").json == []
    assert netcost("events", str(path), "cycles:u").out.split()[:2] == ["time", "(s)"]


@pytest.mark.parametrize(
    ("machine", "version", "wrapping", "said"),
    [
        ("x86_64", 1, None, "version 1"),
        ("s390x", 2, None, "big-endian"),
        ("i386", 2, "gzip", "32-bit, inside gzip"),
        ("ppc", 2, "zstd", "big-endian, 32-bit, inside zstd"),
    ],
)
def test_info_says_what_is_unusual_of_a_recorder(
    netcost: Netcost, tmp_path: Path, machine: str, version: int, wrapping: str | None, said: str
) -> None:
    path = write(tmp_path / "perf.data", machine=MACHINES[machine], version=version)
    if wrapping:
        data = Path(path).read_bytes()
        Path(path).write_bytes(wrapped(data, wrapping))
    run = netcost("info", path)
    assert line(run.out, "format").replace(", file mode", "") in (
        f"perf.data {said}",
        f"perf.data, {said}",
    )
    assert line(run.out, "events").startswith("3  cycles:u")
    info = netcost("info", path, "--json").json
    assert (info["version"], info["wrapped"]) == (version, wrapping)
    assert info["byte_order"] == ("big" if "big" in said else "little")
    assert info["word_bytes"] == (4 if "32-bit" in said else 8)


def test_guests_are_marked(netcost: Netcost, tmp_path: Path) -> None:
    samples = told()
    inside = [replace(samples[0], mode="guest kernel"), replace(samples[1], mode="guest user")]
    taken = replace(CYCLES, ids=(40,))
    entries = IdIndex(((10, 0, 0, 70), (40, 1, 0, 70)), ((0, 0), (4321, 0)))
    path = tmp_path / "perf.data"
    records = [entries, *inside, samples[2], *told(event=1)]
    path.write_bytes(write_file([CYCLES, taken], [], records))
    text = netcost("info", str(path)).out
    assert line(text, "guests").startswith("2 samples ")
    assert re.search(r"3\s+cycles:u \(guest 4321\)", text)
    info = netcost("info", str(path), "--json").json
    assert info["guest_samples"] == 2
    assert [one["guest"] for one in info["event_attrs"]] == [None, 4321]
    rows = netcost("events", str(path), "cycles:u", "--json").json
    assert [row["cpu_mode"] for row in rows] == ["guest kernel", "guest user", "kernel"]
    assert len(netcost("events", str(path), "cycles:u (guest 4321)", "--json").json) == 3


# Of an event that was recorded with everything, every column stands in the docs, in its order.
def test_the_docs_name_every_column_of_samples(tmp_path: Path) -> None:
    everything = T(sum(T) & ~T.WEIGHT)
    attr = replace(CYCLES, sample_type=everything, read_format=READ_ID | READ_GROUP | 3)
    path = tmp_path / "perf.data"
    path.write_bytes(write_file([attr], [], [replace(one, raw=b"1234") for one in told()]))
    columns = open_capture(path).samples("cycles:u").columns
    text = (ROOT / "docs" / "tables.md").read_text().split("\n## samples\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    named = [name for cell in cells for name in re.findall(r"`([\w:<>]+)\??`", cell)]
    assert named == [re.sub(r"read:.*", "read:<event>", one) for one in columns]


@pytest.mark.parametrize("table", ["mappings", "kernel_symbols", "kallsyms"])
def test_the_docs_name_every_column_of_the_address_tables(tmp_path: Path, table: str) -> None:
    path = write(tmp_path / "perf.data", header=Header(kallsyms="10 T net_rx_action\n"))
    text = (ROOT / "docs" / "tables.md").read_text().split(f"\n## {table}\n")[1]
    section = text.split("\n## ")[0]
    frame = getattr(open_capture(path), table)()
    places = [section.index(f"`{name}") for name in frame.columns]
    assert places == sorted(places)


def test_mappings_and_symbols_as_frames(path: str) -> None:
    capture = open_capture(path)
    (mapping,) = capture.mappings().to_dict("records")
    assert mapping["filename"] == "/usr/bin/openssl"
    assert (mapping["address"], mapping["length"], mapping["executable"]) == (0x400000, 4096, True)
    (symbol,) = capture.kernel_symbols().to_dict("records")
    assert (symbol["name"], symbol["kind"]) == ("bpf_prog_1", "bpf")
    assert (symbol["address"], symbol["unregistered"]) == (0xFFFFFFFFC0000000, False)
    assert capture.kallsyms() is None


def test_kallsyms_of_an_old_recorder(netcost: Netcost, tmp_path: Path) -> None:
    header = Header(kallsyms=f"{KERNEL:016x} T net_rx_action\nffffffffc0000010 t poll\t[igb]\n")
    path = write(tmp_path / "perf.data", header=header)
    frame = open_capture(path).kallsyms()
    assert frame is not None
    assert frame["name"].tolist() == ["net_rx_action", "poll"]
    assert frame["address"].tolist() == [KERNEL, 0xFFFFFFFFC0000010]
    assert line(netcost("info", path).out, "symbols").endswith(", kallsyms")
    assert netcost("info", path, "--json").json["kallsyms"] is True


# perf stopped recording it by itself; with --kcore it makes a folder with a copy.
def test_kallsyms_beside_a_recording(path: str, tmp_path: Path) -> None:
    folder = tmp_path / "perf.data"
    (folder / "kcore_dir").mkdir(parents=True)
    (folder / "data").write_bytes(Path(path).read_bytes())
    assert open_capture(folder).kallsyms() is None
    copy = folder / "kcore_dir" / "kallsyms"
    copy.write_text(f"{KERNEL:x} T net_rx_action\n")
    capture = open_capture(folder)
    frame = capture.kallsyms()
    assert frame is not None
    assert frame["name"].tolist() == ["net_rx_action"]
    assert capture.info["kallsyms"] is True
    copy.rename(tmp_path / "elsewhere")
    copy.symlink_to(tmp_path / "elsewhere")
    assert open_capture(folder).kallsyms() is None


# A stack without frame pointers gives numbers that lie where marks do, and mark nothing.
def test_what_is_no_mark_is_a_frame(tmp_path: Path) -> None:
    rubbish = (CONTEXT_KERNEL, KERNEL, CONTEXT_USER, USER, 2**64 - 1, 57, 2**64 - 3959)
    path = tmp_path / "perf.data"
    path.write_bytes(write_file([CYCLES], [], [replace(told()[0], callchain=rubbish)]))
    (row,) = open_capture(path).samples("cycles:u").to_dict("records")
    assert row["callchain"] == [KERNEL, USER, 2**64 - 1, 57, 2**64 - 3959]
    assert row["kernel_frames"] == 1


# Exploded, a row per frame of its own type: what a function breakdown starts from.
def test_callchains_explode(path: str) -> None:
    capture = open_capture(path)
    with pytest.raises(CaptureError, match=r"samples\('cycles:u'\)"):
        capture.events("cycles:u")
    with pytest.raises(CaptureError, match=": cycles:u"):
        capture.samples("cycle:u")
    frame = capture.samples("cycles:u")
    flat = frame.explode("callchain")
    assert flat["callchain"].dropna().tolist() == FRAMES * 2
    assert flat["callchain"].dtype.kind == "u"
    assert flat["time_ns"].tolist() == [1_000] * 4 + [1_500] * 4 + [2_000]
    assert len(capture.samples("cycles:u", limit=1)) == 1


# What perf script printed: the names of functions where it has them, addresses where it has none.
def test_samples_of_a_text(netcost: Netcost, tmp_path: Path) -> None:
    path = tmp_path / "script.txt"
    path.write_text(
        "sh 7 [000] 1.000001: 250000 cpu-clock: \n"
        "\tffffffff81000010 __mod_timer+0x10 ([kernel.kallsyms])\n"
        "\t          4005f0 [unknown] (/bin/sh)\n\n"
    )
    head, row = netcost("events", str(path), "cpu-clock").out.splitlines()
    assert head.split() == ["time", "(s)", "cpu", "tid", "comm", "period", "callchain"]
    assert row.split() == ["0.000000000", "0", "7", "sh", "250000", "__mod_timer", "4005f0"]
    [one] = netcost("events", str(path), "cpu-clock", "--json").json
    assert one["symbols"] == ["__mod_timer", None]


# ftrace's stacks are lists of addresses in a field of the event.
def test_stacks_are_in_hex() -> None:
    rows = [
        {"time_ns": 1_000, "caller": [2**64 - 16, 4096], "size": 2},
        {"time_ns": 2_000, "caller": [], "size": 0},
    ]
    table = event_table(["time_ns", "caller", "size"], rows, 1_000)
    assert table.header == ["time (s)", "size", "caller"]
    assert event_table(["size", "time_ns"], rows, 1_000).header == ["size", "time (s)"]
    assert table.rows == [["0.000000000", "2", "fffffffffffffff0 1000"], ["0.000001000", "0", ""]]


# Where /proc/kallsyms was recorded the kernel's frames have their names, a program's none; JSON and
# files have the addresses.
def test_frames_of_the_kernel_are_named_where_it_says_how(netcost: Netcost, tmp_path: Path) -> None:
    told = (
        stack("memcpy.isra.0 < tcp_ack < ?", user=(USER,)),
        Stack(user=(USER, USER + 16)),
        stack("veth_poll [veth]"),
    )
    capture_of(tmp_path / "named", *told)
    run = netcost("events", str(tmp_path / "named"), "cycles")
    assert run.code == 0, run.err
    lines = [line.split() for line in run.out.splitlines()]
    at = lines[0].index("ip") - 1
    # "time (s)" are two words.
    assert [line[at] for line in lines[1:]] == ["memcpy.isra.0", f"{USER:x}", "veth_poll"]
    chains = [line.rpartition("  ")[2] for line in run.out.splitlines()[1:]]
    assert chains == [
        f"memcpy.isra.0 tcp_ack {NOWHERE:x} | {USER:x}",
        f"{USER:x} {USER + 16:x}",
        "veth_poll",
    ]
    capture_of(tmp_path / "bare", *told, names=False)
    bare = netcost("events", str(tmp_path / "bare"), "cycles").out
    assert "tcp_ack" not in bare
    for words in (("--json",), ("--columns", "ip,callchain", "--json")):
        both = [
            netcost("events", str(tmp_path / one), "cycles", *words).json
            for one in ("named", "bare")
        ]
        assert both[0] == both[1]
        assert both[0][0]["callchain"][2:] == [NOWHERE, USER]


# One column alone, and samples that have no chain.
def test_names_stand_also_without_a_chain(netcost: Netcost, tmp_path: Path) -> None:
    bare = replace(STACKS, sample_type=STACKS.sample_type & ~T.CALLCHAIN)
    capture_of(tmp_path / "r", stack("tcp_ack"), attrs=[bare])
    words = ("events", str(tmp_path / "r"), "cycles")
    assert "tcp_ack" in netcost(*words).out
    assert netcost(*words, "--columns", "ip,cpu_mode").out.split()[-2:] == ["tcp_ack", "kernel"]
    assert netcost(*words, "--columns", "ip").out.split() == ["ip", "tcp_ack"]
    assert netcost(*words, "--columns", "time_ns").code == 0
