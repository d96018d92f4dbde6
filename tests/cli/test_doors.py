# The command line on captures that are none of perf's: trace.dat, copies of tracefs, texts. Every
# command works on each, says who recorded it, and with which clock.

import csv
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support.doors import DOORS, text, trace_dat
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.run_cli import Netcost
from support.told import NET_RX
from support.tracedat import Packing, own_events, write_trace_dat
from support.tracedat import options as o

OTHER = recording(cpu(0, h.SoftirqRaise(5_000, NET_RX)))


every_door = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)


def lines(out: str) -> dict[str, str]:
    found = (line.partition(" ") for line in out.splitlines() if not line.startswith(" "))
    return {key: value.strip() for key, _, value in found}


@every_door
def test_every_command_gives_the_same_answer(
    netcost: Netcost, tmp_path: Path, door: Callable[[Path], str]
) -> None:
    path = door(tmp_path)
    events = netcost("events", path, "napi:napi_poll", "--json").json
    assert [(one["work"], one["dev_name"], one["common_comm"]) for one in events] == [
        (8, "eth0", "openssl")
    ]
    found = netcost("stolen", path, "--json").json
    openssl = next(one for one in found["victims"] if one["comm"] == "openssl")
    assert openssl["by_device"] == [{"device": "eth0", "stolen_ns": 5_000, "stolen_max_ns": 5_000}]
    assert openssl["stolen_network_ns"] == 6_000
    ledger = netcost("ledger", path, "--json").json
    thieves = {
        thief["thief"]: thief["ns"]
        for victim in ledger["victims"]
        for thief in victim["thieves"]
        if victim["comm"] == "openssl"
    }
    assert thieves["eth0 poll"] == 4_000
    resolution = 1000 if door is text else 1
    assert found["resolution_ns"] == ledger["resolution_ns"] == resolution


@pytest.mark.parametrize(
    ("door", "kind", "recorder", "clock"),
    [
        ("trace.dat 6", ["trace.dat", "6", "file"], "3.1.6", "mono"),
        ("trace.dat 7", ["trace.dat", "7", "file", "compressed"], "3.1.6", "mono"),
        ("tracefs", ["tracefs", "directory"], "tracefs", "mono"),
        ("text", ["text", "ftrace"], "ftrace", "unknown"),
    ],
)
def test_info_names_format_recorder_and_clock(
    netcost: Netcost, tmp_path: Path, door: str, kind: list[str], recorder: str, clock: str
) -> None:
    run = netcost("info", DOORS[door](tmp_path))
    said = lines(run.out)
    assert [word for word in re.split(r"[ ,]+", said["format"]) if word in kind] == kind
    assert recorder in said["recorder"].split()
    assert said["clock"].split(",")[0] == clock
    assert "perf" not in run.out.replace(str(tmp_path), "")


def test_a_text_of_perf_script_names_its_version(netcost: Netcost, tmp_path: Path) -> None:
    path = tmp_path / "script.txt"
    line = "openssl 500 [000] 1.000001: irq:softirq_raise: vec=3 [action=NET_RX]\n"
    path.write_text(f"# perf version : 6.1.0\n{line}")
    assert lines(netcost("info", str(path)).out)["recorder"].split()[0::2] == ["perf", "6.1.0"]


@pytest.mark.parametrize("clock", ["x86-tsc", "counter"])
def test_clocks_that_count_no_time(netcost: Netcost, tmp_path: Path, clock: str) -> None:
    path = trace_dat(tmp_path, clock=clock)
    column = "time_cycles" if clock == "x86-tsc" else "time_order"
    info = netcost("info", path, "--json").json
    assert (info["time_unit"], info["start_ns"]) == (column.removeprefix("time_"), None)
    says = "cycles" if clock == "x86-tsc" else "order"
    said = lines(netcost("info", path).out)["clock"]
    assert (said.split(",")[0], says in said) == (clock, True)
    head, row = netcost("events", path, "irq:softirq_entry").out.splitlines()
    assert (head.split()[0], row.split()[0]) == (column, "3000")
    table = tmp_path / "events.csv"
    assert netcost("events", path, "irq:softirq_entry", "-o", str(table)).code == 0
    assert next(csv.DictReader(table.open()))[column] == "3000"
    for words in (("ledger",), ("stolen",), ("ledger", "--start", "1")):
        run = netcost(words[0], path, *words[1:])
        assert (run.code, run.out, run.err.count("\n")) == (1, "", 1)
        assert clock in run.err
        assert "-C mono" in run.err


def test_uptime_counts_in_its_steps(netcost: Netcost, tmp_path: Path) -> None:
    path = trace_dat(tmp_path, clock="uptime")
    assert "steps of 10,000,000" in lines(netcost("info", path).out)["clock"]
    run = netcost("events", path, "irq:softirq_entry")
    assert run.out.splitlines()[1].split()[0] == "20.000000000"


def test_buffers_are_listed_and_chosen(netcost: Netcost, tmp_path: Path) -> None:
    path = trace_dat(tmp_path, instances={"other": OTHER})
    said = netcost("info", path).out.splitlines()
    at = next(number for number, line in enumerate(said) if line.startswith("buffers"))
    assert said[at].endswith("(read here)")
    assert said[at + 1].split()[:3] == ["other:", "1", "CPU,"]
    assert not said[at + 1].endswith("(read here)")
    info = netcost("info", path, "--buffer", "other", "--json").json
    assert info["buffer"] == "other"
    assert {name for name, count in info["events"].items() if count} == {"irq:softirq_raise"}
    raises = netcost("events", path, "irq:softirq_raise", "--buffer", "other", "--json").json
    assert [one["time_ns"] for one in raises] == [5_000]
    run = netcost("info", path, "--buffer", "third")
    assert (run.code, run.err.count("\n")) == (1, 1)
    assert {"'third'", "'other'"} <= set(run.err.split())
    for door in ("tracefs", "text"):
        run = netcost("ledger", DOORS[door](tmp_path), "--buffer", "other")
        assert (run.code, "no buffer 'other'" in run.err) == (1, True)


def test_events_that_ftrace_always_describes_are_not_missed(
    netcost: Netcost, tmp_path: Path
) -> None:
    path = trace_dat(tmp_path, packing=Packing("none"), own_formats=own_events.OWN)
    assert "ftrace:kernel_stack" in netcost("info", path, "--json").json["events"]
    out = netcost("info", path).out
    assert "ftrace:" not in out
    assert "irq_vectors:" in out


def test_losses_of_unknown_number_are_counted_as_places(netcost: Netcost, tmp_path: Path) -> None:
    told = recording(cpu(0, h.SoftirqRaise(1_000, 1), h.Lost(1_500, 9), h.SoftirqRaise(2_000, 1)))
    known = netcost("info", trace_dat(tmp_path, told)).out
    assert lines(known)["lost"] == "9 events"
    unknown = netcost("info", trace_dat(tmp_path, told, count_losses=False)).out
    assert lines(unknown)["lost"].startswith("0 events, ")
    assert lines(unknown)["lost"].endswith("1 place")


def test_what_joins_captures_is_in_the_json(netcost: Netcost, tmp_path: Path) -> None:
    options = (o.date(7), o.guest("vm", 9, {0: 500}))
    info = netcost("info", trace_dat(tmp_path, options=options), "--json").json
    assert (info["date_offset_ns"], info["trace_id"]) == (7_000, 0x17084)
    assert info["guests"] == [{"name": "vm", "trace_id": 9, "cpus": {"0": 500}}]
    assert info["uname"].split()[1:] == ["described", "6.18.0", "x86_64"]


# An event of a text that is not known keeps its words.
def test_unknown_events_of_a_text_have_their_text(netcost: Netcost, tmp_path: Path) -> None:
    [row] = netcost("events", text(tmp_path), "strange_event", "--json").json
    assert (row["text"], row["common_comm"]) == ("anything=1", "udpsink")


@pytest.mark.parametrize("door", ["trace.dat 7", "tracefs"])
def test_a_bundle_of_any_recorder(netcost: Netcost, tmp_path: Path, door: str) -> None:
    trace = Path(DOORS[door](tmp_path))
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    shutil.move(trace, bundle / trace.name)
    manifest = f'{{"netcost_bundle": 1, "trace": "{trace.name}"}}'
    (bundle / "manifest.json").write_text(manifest)
    info = netcost("info", str(bundle), "--json").json
    assert (info["bundle"], info["format"]) == (True, door.split()[0])
    assert "eth0 poll" in netcost("ledger", str(bundle)).out


# One of each thing: no command says "1 events".
def test_numbers_agree_with_what_they_count(netcost: Netcost, tmp_path: Path) -> None:
    told = recording(cpu(0, h.SoftirqRaise(1_000, 1), h.Lost(1_500, 1), h.SoftirqRaise(2_000, 1)))
    table = str(tmp_path / "events.csv")
    for dress in ({}, {"count_losses": False}, {"instances": {"other": OTHER}}):
        path = trace_dat(tmp_path, told, **dress)
        for words in (
            ("info", path),
            ("events", path, "irq:softirq_raise", "--limit", "1", "-o", table),
            ("ask", "coverages", path, "-o", table),
            ("ledger", path),
        ):
            run = netcost(*words)
            assert run.code == 0, run.err
            # Notes are the native module's.
            ours = [line for line in run.out.splitlines() if not line.startswith("note")]
            assert re.findall(r"\b1 [a-z]+s\b", "\n".join(ours)) == [], words


def test_so_many_events_are_not_listed_in_an_error(netcost: Netcost, tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    line = "openssl-500 [000] ..... 1.000001: event_{}: anything\n"
    path.write_text("".join(line.format(chr(97 + at % 26) * (3 + at // 26)) for at in range(70)))
    run = netcost("events", str(path), "xyz")
    assert ("its 70" in run.err, "event_" in run.err) == (True, False)


def test_events_into_a_file(netcost: Netcost, tmp_path: Path) -> None:
    path, table = trace_dat(tmp_path), str(tmp_path / "events.csv")
    made = netcost("events", path, "sched:sched_switch", "-o", table, "--json").json
    assert made == {"event": "sched:sched_switch", "rows": 2, "output": table}


# Two CPUs, an event each microsecond: the window is that of netcost stolen, and the limit counts
# what is in it.
@pytest.mark.parametrize("write", ["perf.data", "trace.dat"])
def test_events_of_a_window(netcost: Netcost, tmp_path: Path, write: str) -> None:
    told = recording(
        *(
            cpu(n, *(h.SoftirqRaise(at + 500 * n, n) for at in range(1_000, 9_000, 1_000)))
            for n in (0, 1)
        )
    )
    path = tmp_path / write
    _ = told.write(path) if write == "perf.data" else write_trace_dat(told, path)

    def times(*words: str) -> list[tuple[int, int]]:
        said = netcost("events", str(path), "irq:softirq_raise", *words, "--json").json
        return sorted((row["time_ns"], row["common_cpu"]) for row in said)

    assert times("--start", "1e-6", "--end", "3e-6", "--cpu", "0") == [(2_000, 0), (3_000, 0)]
    assert times("--end", "1e-6") == [(1_000, 0), (1_500, 1)]
    assert times("--cpu", "1", "--limit", "1") == [(1_500, 1)]
    for words, status in (
        (("--start", "1"), 1),
        (("--cpu", "2"), 1),
        (("--start", "2", "--end", "1"), 2),
    ):
        run = netcost("events", str(path), "irq:softirq_raise", *words)
        assert (run.code, run.out, run.err.count("\n")) == (status, "", 1)
