# netcost functions: components first, then functions; what no rule names.

import json
import re
from pathlib import Path

import pytest

from support.host import ROOT
from support.run_cli import Netcost
from support.stacks import USER, Stack, Symbols, capture_of, stack

SAMPLE = str(ROOT / "sample-data" / "io-sizes" / "tcp-64.netcost.tar.zst")
SEND = "tcp_sendmsg < inet_sendmsg < __sys_sendto"


@pytest.fixture
def path(tmp_path: Path) -> str:
    told = [
        *[stack("default_idle")] * 5,
        *[stack(f"memcpy < {SEND}", cpu=1, time_ns=10**9)] * 3,
        stack("veth_xmit [veth] < dev_hard_start_xmit", time_ns=2 * 10**9),
        stack("unheard_of\x1b[1m"),
        Stack(user=(USER,)),
    ]
    capture_of(tmp_path / "r", *told)
    return str(tmp_path / "r")


def table(text: str, first: str) -> list[list[str]]:
    # The lines under a heading that begins so, to the next empty line; columns are two apart.
    lines = text.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(first))
    end = next((at for at in range(start, len(lines)) if not lines[at]), len(lines))
    return [re.split(r" {2,}", line.rstrip()) for line in lines[start + 1 : end]]


def test_components_come_first_then_functions(netcost: Netcost, path: str) -> None:
    run = netcost("functions", path)
    assert run.code == 0, run.err
    assert re.findall(r"[\d.]+ %|\d+ samples", run.out)[:3] == ["6 samples", "50.0 %", "18.8 %"]
    parts = table(run.out, "component ")
    assert parts[0][:2] == ["idle", "5"]
    assert parts[1][:2] + parts[1][3:] == ["TCP", "50.0 %", "3", "tcp_sendmsg"]
    assert parts[1][2].split(" – ") == ["18.8 %", "81.2 %"]
    assert {row[0] for row in parts} == {"idle", "TCP", "driver tx", "unclassified", "application"}
    functions = table(run.out, "function ")
    assert functions[1][:3] == ["memcpy", "TCP", "50.0 %"]
    [veth] = [row for row in functions if row[0] == "veth_xmit"]
    assert veth[1:3] + veth[4:] == ["driver tx", "16.7 %", "1", "veth"]
    assert veth[3].split(" – ") == ["3.0 %", "56.4 %"]
    assert run.out.index("component ") < run.out.index("The largest functions")
    # Names come from anyone.
    assert "\x1b" not in run.out


def test_a_cpu_and_a_window(netcost: Netcost, path: str) -> None:
    def samples(*words: str) -> dict[str, int]:
        found = netcost("functions", path, *words, "--json").json
        assert sum(row["samples"] for row in found["functions"]) == found["samples"]
        return {row["component"]: row["samples"] for row in found["components"]}

    assert samples("--cpu", "1") == {"TCP": 3}
    assert samples("--start", "0.9") == {"TCP": 3, "driver tx": 1}
    assert samples("--start", "0.9", "--end", "1.5") == {"TCP": 3}
    assert samples("--end", "0.5") == {"idle": 5, "unclassified": 1, "application": 1}


def test_the_fields_in_json(netcost: Netcost, path: str) -> None:
    found = netcost("functions", path, "--json").json
    components, functions = found.pop("components"), found.pop("functions")
    # A counter's samples are where they are.
    assert found.pop("interrupts_off") == []
    assert found == {
        "sampled_event": "cycles",
        "is_timed": False,
        "samples": 11,
        "busy_samples": 6,
        "kernel_samples": 5,
        "unclassified_share": pytest.approx(0.2),
    }
    assert [row["component"] for row in components][:2] == ["idle", "TCP"]
    assert components[0]["busy_share"] is None
    assert functions[1]["function"] == "memcpy"
    docs = (ROOT / "docs" / "cli.md").read_text().partition("### functions")[2]
    for name in (*found, "components", "functions", "interrupts_off"):
        assert f"`{name}`" in docs.partition("### ask")[0]


# What has no samples outside the kernel's idle has no share of anything.
def test_an_idle_host_has_no_shares(netcost: Netcost, tmp_path: Path) -> None:
    capture_of(tmp_path / "r", stack("default_idle"))
    found = netcost("functions", str(tmp_path / "r"), "--json").json
    assert (found["busy_samples"], found["unclassified_share"]) == (0, None)
    assert "1 sample " in netcost("functions", str(tmp_path / "r")).out


def test_what_no_rule_names_and_what_two_do(netcost: Netcost, path: str, tmp_path: Path) -> None:
    run = netcost("functions", path, "--unclassified")
    assert "1 of 5" in run.out
    assert table(run.out, "function ")[0][1:] == ["20.0 %", "1", "unheard_of\\x1b[1m"]
    assert "several components" not in run.out
    own = tmp_path / "own.toml"
    own.write_text('[[rule]]\ncomponent = "mine"\nfunctions = ["tcp_s*", "unheard*"]\n')
    words = ("functions", path, "--unclassified", "--rules", str(own))
    assert table(netcost(*words).out, "function ") == [["tcp_sendmsg", "mine", "3", "TCP"]]
    found = netcost(*words, "--json").json
    assert (found["kernel_samples"], found["unclassified_samples"]) == (5, 0)
    assert found["unclassified"] == []
    [row] = found["claimed_twice"]
    assert (row["function"], row["component"], row["further_components"]) == (
        *("tcp_sendmsg", "mine", "TCP"),
    )


# The shares and their intervals stand where a terminal has 80 columns, no line is longer.
def test_a_terminal_of_80_columns(netcost: Netcost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with monkeypatch.context() as only:
        only.setattr("sys.stdout.isatty", lambda: True)
        run = netcost("functions", SAMPLE)
    lines = re.sub(r"\x1b\[\d+m", "", run.out).splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line.split() for line in lines if line.startswith(("component ", "function "))]
    assert heads[0] == ["component", "share", "95", "%", "interval", "samples"]
    # How wide it is depends on the longest name.
    assert heads[1][:3] == ["function", "component", "share"]
    assert "first 20 of" in run.err


# A bare recording has no names of the kernel's functions until they are given.
def test_kallsyms_that_are_given(netcost: Netcost, tmp_path: Path) -> None:
    symbols = Symbols()
    folder = tmp_path / "x"
    capture_of(
        folder, stack("tcp_ack < tcp_v4_rcv"), Stack(user=(USER,)), symbols=symbols, names=False
    )
    path, text = str(folder), tmp_path / "kallsyms"
    text.write_text(symbols.kallsyms())
    refused = netcost("functions", path)
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    run = netcost("functions", path, "--kallsyms", str(text))
    assert run.code == 0
    assert "tcp_ack" in run.out
    run = netcost("functions", path, "--kallsyms", str(text), "--user", "--json")
    assert {row["dso"] for row in json.loads(run.out)["functions"]} == {None}
    run = netcost("events", path, "cycles", "--kallsyms", str(text))
    assert "tcp_ack tcp_v4_rcv" in run.out
    hidden = re.sub("(?m)^[0-9a-f]{16}", "0" * 16, symbols.kallsyms())
    text.write_text(hidden)
    refused = netcost("functions", path, "--kallsyms", str(text))
    assert (refused.code, "no addresses" in refused.err) == (1, True)
