# Options that give what a bare recording lacks, and cycles their length.

import json
import shlex
from pathlib import Path

import pytest

from support.doctored import unnoted
from support.doors import trace_dat
from support.host import SAMPLES
from support.run_cli import Netcost

NIC = SAMPLES / "nic-stolen-time"
TRACE = str(NIC / "trace.perf.data")
FILES = (
    *("--victim-output", str(NIC / "victim.txt")),
    *("--baseline-output", str(NIC / "baseline" / "victim.txt")),
    *("--kernel-config", str(NIC / "kernel_config")),
    *("--before", str(NIC / "before")),
    *("--after", str(NIC / "after")),
)


@pytest.mark.parametrize(
    "words",
    [("ask", "accounts"), ("ask", "cpu_accounts"), ("stolen",), ("ledger",)],
)
def test_what_is_given_beside_a_trace_answers_as_the_bundle(
    netcost: Netcost, tmp_path: Path, words: tuple[str, ...]
) -> None:
    wanted = netcost(*words, str(unnoted(tmp_path / "bundle")), "--json").json
    found = netcost(*words, TRACE, *FILES, "--json").json
    if words[0] != "ask":
        assert [note for note in found.pop("notes") if "victim_output" in note]
        wanted.pop("notes")
    assert json.dumps(found) == json.dumps(wanted)


def test_what_was_given_is_said(netcost: Netcost) -> None:
    for words in (("info", TRACE), ("ask", "provenance", TRACE), ("stolen", TRACE)):
        run = netcost(*words, *FILES[:2])
        assert run.code == 0, run.err
        assert "victim_output" in run.out
        assert "pid 1544" in " ".join(run.out.split())


def test_a_report_says_what_was_given(netcost: Netcost, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    given = (*FILES[:4], "--victim-cpu", "0")
    run = netcost("report", TRACE, *given, "-o", str(page), "--notebook", "accounting")
    assert run.code == 0, run.err
    told = page.read_text()
    words = ("netcost", "report", TRACE, "--notebook", "accounting", *given)
    assert sorted(shlex.split(told.rstrip().splitlines()[-1].split("`")[1])) == sorted(words)
    assert "44.6 %" in told


def test_a_clock_of_cycles_is_given_their_length(netcost: Netcost, tmp_path: Path) -> None:
    path = trace_dat(tmp_path, clock="x86-tsc")
    run = netcost("ledger", path)
    assert (run.code, "--tsc-hz" in run.err) == (1, True)
    (tmp_path / "plain").mkdir()
    plain = netcost("ledger", trace_dat(tmp_path / "plain"), "--json").json
    found = netcost("ledger", path, "--tsc-hz", "1e9", "--json").json
    assert any("1000000000" in note for note in found.pop("notes"))
    plain.pop("notes")
    assert found == plain
    row = netcost("events", path, "irq:softirq_entry", "--tsc-hz", "2e9", "--json").json[0]
    assert row["time_ns"] == 1500
