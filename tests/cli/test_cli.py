# What the command line promises: exit codes, one line on error, documented JSON.

import re
from pathlib import Path

import pandas as pd
import pytest

from netcost_analysis.schema import column
from support.doors import one_interrupt, trace_dat
from support.host import ROOT
from support.run_cli import Netcost
from support.told import NET_RX, TIMER


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return one_interrupt(tmp_path_factory.mktemp("capture"))


# docs/cli.md names every field of info and ledger, and no summary misses one of info's.
def test_every_field_is_documented(netcost: Netcost, path: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "cli.md").read_text()
    section = text.split("### info")[1].split("### events")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert named <= set(netcost("info", path, "--json").json)
    for command, described in (
        ("info", section),
        ("ledger", text.split("### ledger and stolen")[1]),
    ):
        answer = netcost(command, trace_dat(tmp_path), "--json").json
        assert [name for name in answer if f"`{name}`" not in described] == []


def test_the_version(netcost: Netcost) -> None:
    assert re.match(r"netcost, version \d", netcost("--version").out)


def test_events_as_json_csv_and_parquet(netcost: Netcost, path: str, tmp_path: Path) -> None:
    rows = netcost("events", path, "napi:napi_poll", "--json").json
    assert [(row["time_ns"], row["work"], row["dev_name"]) for row in rows] == [(7_000, 8, "eth0")]
    assert netcost("events", path, "napi:napi_poll", "--limit", "0", "--json").json == []
    for suffix, read in ((".csv", pd.read_csv), (".parquet", pd.read_parquet)):
        target = tmp_path / f"events{suffix}"
        assert netcost("events", path, "irq:softirq_entry", "-o", str(target)).code == 0
        made = read(target)
        assert made["time_ns"].tolist() == [3_000, 9_500]
        assert made["vec"].tolist() == [NET_RX, TIMER]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["events.csv", "events.parquet"]


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


# What the text says beside the table of victims: the answers of the questions that it is from.
def test_stolen_as_json_has_what_the_questions_answer(netcost: Netcost) -> None:
    sample = str(ROOT / "sample-data" / "nic-stolen-time")
    victim = ("--victim", "openssl", "--json")
    whole, one = netcost("stolen", sample, "--json").json, netcost("stolen", sample, *victim).json
    asked = {
        question: netcost("ask", question, sample, "--json").json
        for question in ("network_cost", "lifetimes", "waited_for")
    }
    assert {question: whole[question] for question in asked} == asked
    assert one["network_cost"] == asked["network_cost"]
    for name in ("lifetimes", "waited_for"):
        assert one[name] == [row for row in asked[name] if row["comm"] == "openssl"] != []


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
