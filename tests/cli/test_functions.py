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
    assert run.out.startswith("Of 6 samples of cycles outside idle 50.0 % are TCP (18.8 % to")
    parts = table(run.out, "component ")
    assert parts[0][:2] == ["idle", "5"]
    assert parts[1] == ["TCP", "50.0 %", "18.8 % – 81.2 %", "3", "tcp_sendmsg"]
    assert {row[0] for row in parts} == {"idle", "TCP", "driver tx", "unclassified", "application"}
    functions = table(run.out, "function ")
    assert functions[1][:3] == ["memcpy", "TCP", "50.0 %"]
    assert ["veth_xmit", "driver tx", "16.7 %", "3.0 % – 56.4 %", "1", "veth"] in functions
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


def test_what_interrupts_were_off_in_has_a_table(netcost: Netcost, path: str) -> None:
    run = netcost("functions", SAMPLE)
    rows = table(run.out, "interrupts off in")
    assert "call_function_single interrupt" in [row[0] for row in rows]
    found = netcost("functions", SAMPLE, "--json").json["interrupts_off"]
    assert len(found) >= len(rows)
    assert "What interrupts were off in" not in netcost("functions", path).out


# What has no samples outside the kernel's idle has no share of anything.
def test_an_idle_host_has_no_shares(netcost: Netcost, tmp_path: Path) -> None:
    capture_of(tmp_path / "r", stack("default_idle"))
    found = netcost("functions", str(tmp_path / "r"), "--json").json
    assert (found["busy_samples"], found["unclassified_share"]) == (0, None)
    assert "None of the 1 sample" in netcost("functions", str(tmp_path / "r")).out


def test_what_no_rule_names_and_what_two_do(netcost: Netcost, path: str, tmp_path: Path) -> None:
    run = netcost("functions", path, "--unclassified")
    assert run.out.startswith("No rule names 1 of 5 samples of the kernel outside idle")
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


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--cpu", "0", "--cpu", "1"), 2, "--cpu: one CPU, or all"),
        (("--unclassified", "--cpu", "0"), 2, "--unclassified is of the whole recording"),
        (("--unclassified", "--end", "1"), 2, "--unclassified is of the whole recording"),
        (("--start", "2", "--end", "1"), 2, "at or before its start"),
        (("--start", "99"), 1, "the capture is over after"),
        (("--cpu", "9"), 1, "no sample is of CPU 9"),
        (("--event", "branches"), 1, "it holds cycles"),
        (("--rules", "nowhere.toml"), 2, "no file of rules nowhere.toml"),
    ],
)
def test_what_cannot_be_asked(
    netcost: Netcost, path: str, words: tuple[str, ...], status: int, said: str
) -> None:
    run = netcost("functions", path, *words)
    assert (run.code, run.out) == (status, "")
    assert said in run.err


def test_captures_without_samples_or_names_are_refused(netcost: Netcost, tmp_path: Path) -> None:
    run = netcost("functions", str(ROOT / "sample-data" / "nic-stolen-time"))
    assert run.code == 1
    assert "no samples of functions were taken" in run.err
    capture_of(tmp_path / "r", stack(SEND), names=False)
    run = netcost("functions", str(tmp_path / "r"))
    assert run.code == 1
    assert "does not say what the kernel's functions are called" in run.err
    assert run.err.count("\n") == 1


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
    assert "the first 20 of " in run.err


# A bare recording has no names of the kernel's functions until they are given.
def test_kallsyms_that_are_given(netcost: Netcost, tmp_path: Path) -> None:
    symbols = Symbols()
    folder = tmp_path / "x"
    capture_of(
        folder, stack("tcp_ack < tcp_v4_rcv"), Stack(user=(USER,)), symbols=symbols, names=False
    )
    path, text = str(folder), tmp_path / "kallsyms"
    text.write_text(symbols.kallsyms())
    assert "does not say what the kernel's functions are called" in netcost("functions", path).err
    run = netcost("functions", path, "--kallsyms", str(text))
    assert run.code == 0
    assert "tcp_ack" in run.out
    run = netcost("functions", path, "--kallsyms", str(text), "--user", "--json")
    assert {row["dso"] for row in json.loads(run.out)["functions"]} == {None}
    run = netcost("events", path, "cycles", "--kallsyms", str(text))
    assert "tcp_ack tcp_v4_rcv" in run.out
    hidden = re.sub("(?m)^[0-9a-f]{16}", "0" * 16, symbols.kallsyms())
    text.write_text(hidden)
    assert "has no addresses" in netcost("functions", path, "--kallsyms", str(text)).err
