# What the command line promises: exit codes, one line on error, documented JSON.

import re
from pathlib import Path

import pandas as pd
import pytest

from netcost_analysis.display.tables import between
from netcost_analysis.questions.lifetimes import KNOWN
from netcost_analysis.schema import column
from netcost_analysis.units import duration
from support.host import ROOT
from support.run_cli import Netcost
from support.told import NET_RX, OPENSSL, TIMER
from support.told_cli import one_interrupt


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return one_interrupt(tmp_path_factory.mktemp("capture"))


def documented(command: str) -> set[str]:
    # The names in the first column of docs/cli.md's JSON tables.
    text = (ROOT / "docs" / "cli.md").read_text().split("## JSON")[1]
    section = text.split(f"### {command}")[1].split("###")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_info_json_has_the_documented_fields(netcost: Netcost, path: str) -> None:
    info = netcost("info", path, "--json").json
    assert documented("info") <= set(info)
    assert info["format"] == "perf.data"
    assert (info["start_ns"], info["end_ns"]) == (1_000, 30_000)
    assert info["cpus"] == [0]
    assert info["events"]["irq:softirq_entry"] == 2
    assert info["lost_events"] == 0
    assert info["recorded"] == 1.0


def test_info_text_says_the_same(netcost: Netcost, path: str) -> None:
    text = netcost("info", path).out
    assert re.search(r"^window +29.0 µs$", text, re.MULTILINE)
    assert re.search(r"^(events.*)? +2 +irq:softirq_entry$", text, re.MULTILINE)
    assert re.search(r"^lost +0 events$", text, re.MULTILINE)


def test_events_as_json_csv_and_parquet(netcost: Netcost, path: str, tmp_path: Path) -> None:
    rows = netcost("events", path, "napi:napi_poll", "--json").json
    assert [(row["time_ns"], row["work"], row["dev_name"]) for row in rows] == [(7_000, 8, "eth0")]
    for suffix, read in ((".csv", pd.read_csv), (".parquet", pd.read_parquet)):
        target = tmp_path / f"events{suffix}"
        assert netcost("events", path, "irq:softirq_entry", "-o", str(target)).code == 0
        made = read(target)
        assert made["time_ns"].tolist() == [3_000, 9_500]
        assert made["vec"].tolist() == [NET_RX, TIMER]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["events.csv", "events.parquet"]


def test_events_limit(netcost: Netcost, path: str) -> None:
    assert len(netcost("events", path, "irq:softirq_entry", "--json", "--limit", "1").json) == 1
    assert netcost("events", path, "irq:softirq_entry", "--json", "--limit", "0").json == []
    text = netcost("events", path, "irq:softirq_entry", "--limit", "1").out.splitlines()
    assert len(text) == 2
    assert text[1].startswith("0.000002000")


def test_a_near_miss_is_named(netcost: Netcost, path: str) -> None:
    run = netcost("events", path, "napi:napi_pol")
    assert (run.code, run.out) == (1, "")
    assert "napi:napi_poll" in run.err
    assert "irq:softirq_entry" in netcost("events", path, "softirq_entri").err


def test_ledger_json(netcost: Netcost, path: str) -> None:
    answer = netcost("ledger", path, "--json").json
    (victim,) = (one for one in answer["victims"] if one["comm"] == "openssl")
    thieves = {one["thief"]: one["ns"] for one in victim["thieves"]}
    assert thieves["eth0 poll"] == 4_000
    assert thieves["NET_RX"] == 1_000
    assert victim["stolen_ns"] == sum(thieves.values())
    assert victim["on_cpu_ns"] == 19_000
    assert answer["by"] == "comm"
    assert (answer["start_ns"], answer["end_ns"], answer["cpus"]) == (1_000, 30_000, [0])
    coverages = ("recorded", "owned")
    for name in ("missing", "lost_events", "lost_unplaced", "notes", *coverages, "elsewhere"):
        assert name in answer


def test_ledger_by(netcost: Netcost, path: str) -> None:
    for by in ("comm", "tid", "cpu", "device"):
        victims = netcost("ledger", path, "--json", "--by", by).json["victims"]
        key = {"device": "comm"}.get(by, by)
        assert victims[0][key] == {"comm": "openssl", "tid": OPENSSL.tid, "cpu": 0}[key]
        assert netcost("ledger", path, "--by", by).code == 0


def test_stolen_json_has_the_documented_columns(netcost: Netcost, path: str) -> None:
    answer = netcost("stolen", path, "--json").json
    (victim,) = (one for one in answer["victims"] if one["comm"] == "openssl")
    assert {name for name in victim if column(name) is None} == {"by_softirq", "by_device"}
    assert {"on_cpu_ns", "task_ns", "stolen_ns", "displaced_ns", "unknown_max_ns"} <= set(victim)
    parts = {row["action"]: row["stolen_max_ns"] for row in victim["by_softirq"]}
    assert parts["NET_RX"] == 5_000
    assert {name for row in victim["by_softirq"] for name in row if column(name) is None} == set()
    assert victim["monitor_ns"] is None
    assert answer["accounting"] is None


def test_one_victim_in_full(netcost: Netcost, path: str) -> None:
    text = netcost("stolen", path, "--victim", "openssl").out
    assert re.search(r"NET_RX +5\.00 µs", text)
    # No row is of another task; one that it waited for is named.
    assert not re.search(r"^udpsink", text, re.MULTILINE)
    run = netcost("stolen", path, "--victim", "openss")
    assert run.code == 1
    assert "openssl" in run.err


def test_a_window_and_a_cpu(netcost: Netcost, path: str) -> None:
    answer = netcost("ledger", path, "--json", "--start", "0.000002", "--end", "0.000004").json
    assert answer["end_ns"] - answer["start_ns"] == 2_000
    assert netcost("ledger", path, "--cpu", "0").code == 0


def test_the_docs_name_every_column_of_every_table_in_order(path: str) -> None:
    from netcost_analysis import open_capture
    from netcost_analysis.timeline.tables import TABLES

    timeline = open_capture(path).timeline().load(*TABLES)
    text = (ROOT / "docs" / "tables.md").read_text()
    rows = re.findall(r"^\| `(\w+)(?:\(\))?` \|[^|]*\|(.*)\|$", text, re.MULTILINE)
    found = {name: re.findall(r"`([\w<>]+)(\??)`", cell) for name, cell in rows}
    for name in (*TABLES, "sums", "irqs"):
        frame = timeline.sums() if name == "sums" else getattr(timeline, name)
        known = [one for one, _ in found[name] if "<" not in one]
        # One column per softirq vector and cost class that occurs stands for the rest.
        assert known == [one for one in frame.columns if one in known or "softirq_" not in one]
        nullable = {one for one, mark in found[name] if mark}
        masked = {
            one for one in frame.columns if str(frame[one].dtype) in ("Int64", "Int32", "UInt64")
        }
        assert masked <= nullable, name


@pytest.mark.parametrize(
    ("command", "what"),
    [
        *(("info", "missing"), ("ledger", "text"), ("stolen", "empty")),
        *(("info", "folder"), ("ledger", "cut"), ("stolen", "cut")),
    ],
)
def test_bad_input_is_one_line_and_exit_1(
    netcost: Netcost, path: str, tmp_path: Path, command: str, what: str
) -> None:
    bad = tmp_path / what
    if what == "folder":
        bad.mkdir()
    elif what != "missing":
        contents = {"text": b"#!/bin/sh\necho no capture\n" * 9, "empty": b""}
        bad.write_bytes(contents.get(what, Path(path).read_bytes()[:150]))
    run = netcost(command, str(bad))
    assert (run.code, run.out) == (1, "")
    assert re.fullmatch(r"netcost: [^\n]+\n", run.err)
    assert "Error(" not in run.err
    assert what != "missing" or str(bad) in run.err
    assert "a bug" not in run.err


def test_help_and_version(netcost: Netcost) -> None:
    assert netcost("--help").code == 0
    for command in ("info", "events", "ledger", "stolen", "report"):
        assert command in netcost("--help").out
        assert "Usage" in netcost(command, "--help").out
    assert re.match(r"netcost, version \d", netcost("--version").out)


# What the text says beside the table of victims, in the words of the questions that answer it.
@pytest.mark.parametrize("name", ["nic-stolen-time", "stolen-time-tcp.netcost.tar.zst"])
def test_stolen_as_json_has_all_that_it_prints(netcost: Netcost, name: str) -> None:
    sample = str(ROOT / "sample-data" / name)
    answer = netcost("stolen", sample, "--json").json
    asked = {
        question: netcost("ask", question, sample, "--json").json
        for question in ("network_cost", "lifetimes", "waited_for")
    }
    assert {question: answer[question] for question in asked} == asked
    for life in answer["lifetimes"]:
        assert sum(life[part] for part in (*KNOWN, "unaccounted_ns")) == life["lifetime_max_ns"]
    one = netcost("stolen", sample, "--json", "--victim", "openssl").json
    assert one["network_cost"] == answer["network_cost"]
    (life,) = one["lifetimes"]
    assert life in answer["lifetimes"]
    assert one["waited_for"] == [row for row in asked["waited_for"] if row["comm"] == "openssl"]
    # The text's figures are these.
    out = netcost("stolen", sample, "--victim", "openssl").out
    cost = one["network_cost"]
    words = between(cost["network_cpu_ns"], cost["network_cpu_max_ns"])
    assert f"{words} of {duration(cost['cpu_ns'])}" in out
    assert f" {between(life['lifetime_ns'], life['lifetime_max_ns'])}; " in out
    first = one["waited_for"][0]
    assert re.search(rf" {first['holder_comm']} +{duration(first['ns'])} ", out)


def test_stolen_as_json_without_switches(netcost: Netcost, tmp_path: Path) -> None:
    text = tmp_path / "trace.txt"
    text.write_text(
        "sh 7 [000] 1.000001: irq:softirq_entry: vec=3 [action=NET_RX]\n"
        "sh 7 [000] 1.000005: irq:softirq_exit: vec=3 [action=NET_RX]\n"
    )
    answer = netcost("stolen", str(text), "--json").json
    assert (answer["lifetimes"], answer["waited_for"]) == (None, None)
    assert answer["network_cost"]["network_cpu_ns"] == 4_000
    assert "sched:sched_switch" in answer["network_cost"]["not_recorded"]
    assert "sched:sched_switch" in answer["missing"]["on_cpu"]


def test_a_bundle_is_read_through_its_manifest(netcost: Netcost, path: str, tmp_path: Path) -> None:
    (tmp_path / "trace.perf.data").write_bytes(Path(path).read_bytes())
    (tmp_path / "kernel_config").write_text("CONFIG_TICK_CPU_ACCOUNTING=y\n")
    manifest = tmp_path / "manifest.json"
    manifest.write_text('{"netcost_bundle": 1, "trace": "trace.perf.data"}')
    assert netcost("info", str(tmp_path), "--json").json["bundle"] is True
    answer = netcost("stolen", str(tmp_path), "--json").json
    assert answer["accounting"] == "tick"
    (victim,) = (one for one in answer["victims"] if one["comm"] == "openssl")
    assert victim["monitor_ns"] == victim["on_cpu_ns"] == 19_000
    assert "tick" in netcost("stolen", str(tmp_path), "--victim", "openssl").out
    manifest.write_text('{"netcost_bundle": 1, "trace": "../trace.perf.data"}')
    run = netcost("info", str(tmp_path))
    assert run.code == 1
    assert "outside the bundle" in run.err
