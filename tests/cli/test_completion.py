# Completion in a shell, what stands there without a command, and names that are nearly right.

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress

import click
import pytest

from netcost_analysis.answers.registry import questions
from netcost_analysis.cli.main import cli
from support.host import ROOT
from support.run_cli import Netcost

NIC = str(ROOT / "sample-data" / "nic-stolen-time")
COMMANDS = set(cli.list_commands(click.Context(cli)))
SHELLS = ("bash", "zsh", "fish")


def completed(
    line: str, monkeypatch: pytest.MonkeyPatch, netcost: Netcost
) -> list[tuple[str, str]]:
    # As bash asks: the kind of each (file: the shell's own files) and what may stand there.
    words = line.split(" ")
    monkeypatch.setenv("_NETCOST_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    run = netcost()
    assert (run.code, run.err) == (0, "")
    return [(kind, text) for kind, _, text in (one.partition(",") for one in run.out.splitlines())]


def test_it_completes_commands_questions_options_values_and_files(
    netcost: Netcost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plain(line: str) -> set[str]:
        return {text for kind, text in completed(line, monkeypatch, netcost) if kind == "plain"}

    assert plain("netcost ") == COMMANDS
    assert plain("netcost fleet") == {"fleet", "fleet-report"}
    assert plain("netcost --v") == {"--version"}
    assert plain("netcost ask ") == set(questions())
    assert plain("netcost ask poll_") == {"poll_costs", "poll_sizes"}
    assert {"--victim", "--victim-cpu"} <= plain("netcost ask remedies --vic")
    assert plain("netcost ledger --by c") == {"comm", "cpu"}
    assert completed("netcost stolen some", monkeypatch, netcost) == [("file", "some")]


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_gets_its_script(
    netcost: Netcost, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    monkeypatch.setenv("_NETCOST_COMPLETE", f"{shell}_source")
    run = netcost()
    assert (run.code, run.err) == (0, "")
    assert f"_NETCOST_COMPLETE={shell}_complete" in run.out


def test_without_a_command_it_names_the_three_that_come_first(netcost: Netcost) -> None:
    run = netcost()
    assert (run.code, run.err) == (0, "")
    named = [line.split()[:2] for line in run.out.splitlines() if line.startswith("  ")]
    assert [tuple(words) for words in named] == [
        ("capture/netcost-record", "-o"),
        ("netcost", "stolen"),
        ("netcost", "report"),
    ]
    assert (ROOT / "capture" / "netcost-record").is_file()
    assert {"stolen", "report", "digest"} <= COMMANDS


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (["ledgr", NIC], "there are ledger and"),
        (["remedies", NIC], "netcost ask remedies PATH"),
        (["stolen", "--vicitm", "x", NIC], "'--victim'"),
        (["ask", "remedys", NIC], "similar: remedies"),
        (["ask", NIC], "netcost ask --list"),
        (["ask"], "netcost ask --list"),
        (["ask", "remedies", NIC, "--victm", "x"], "'--victim'"),
        (["ask", "remedies", NIC, "--columns", "finding,remdy"], "there are remedy and"),
    ],
    ids=[
        "command",
        "question as command",
        "option",
        "question",
        "path alone",
        "nothing",
        "its option",
        "column",
    ],
)
def test_the_nearest_name_comes_first(netcost: Netcost, words: list[str], nearest: str) -> None:
    run = netcost(*words)
    assert (run.code, run.out) == (2, "")
    assert nearest in run.err


def test_a_task_that_is_nearly_right_is_named(netcost: Netcost) -> None:
    run = netcost("stolen", NIC, "--victim", "opensl")
    assert (run.code, run.out) == (1, "")
    assert "openssl" in run.err.split()


@pytest.mark.parametrize(("value", "coloured"), [("", True), ("1", False)])
def test_no_color_means_no_colours(value: str, coloured: bool) -> None:
    # https://no-color.org: an empty value is none. Bold heads are no colour.
    words = [sys.executable, "-m", "netcost_analysis", "view", NIC, "--text"]
    kept, terminal = pty.openpty()
    with open(kept, "rb", buffering=0) as screen:
        done = subprocess.Popen(
            [*words, "--start", "3.5", "--end", "3.52"],
            stdout=terminal,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "NO_COLOR": value},
        )
        os.close(terminal)
        seen = b""
        # The last writer's end is an error on Linux.
        with suppress(OSError):
            while read := screen.read(65536):
                seen += read
    assert done.wait() == 0
    assert b"NAPI polls" in seen
    assert (re.search(rb"\x1b\[[39]\dm", seen) is not None) == coloured
