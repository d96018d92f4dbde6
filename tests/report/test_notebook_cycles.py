# A recording of samples alone: the notebook that is about them, and what all others say of it.

from pathlib import Path

import pytest

from support.host import ROOT, SAMPLES
from support.run_cli import Netcost
from support.stacks import capture_of, stack
from support.told_notebook import told_by

SCRIPT = ROOT / "notebooks" / "08-where-the-cycles-go.py"
SAMPLE = str(SAMPLES / "io-sizes" / "tcp-1024.netcost.tar.zst")
SEND = "tcp_sendmsg < inet_sendmsg < __sys_sendto"


@pytest.fixture
def path(tmp_path: Path) -> str:
    capture_of(tmp_path / "r", stack(f"memcpy < {SEND}"), stack("default_idle"))
    return str(tmp_path / "r")


# As README has it.
def test_a_recording_of_samples_alone_has_a_report(netcost: Netcost, tmp_path: Path) -> None:
    page = tmp_path / "r.md"
    run = netcost("report", SAMPLE, "--notebook", "where-the-cycles-go", "-o", str(page))
    assert (run.code, run.err) == (0, "")
    assert "of `cpu-clock`" in page.read_text()


def test_a_bare_recording_says_what_it_has(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = told_by(SCRIPT, monkeypatch, path=path)
    assert "100 % are" in told.text
    assert "netcost-record" in told.text


@pytest.mark.parametrize("notebook", ["stolen-time", "accounting"])
def test_other_notebooks_name_the_one_about_samples(
    netcost: Netcost, path: str, tmp_path: Path, notebook: str
) -> None:
    run = netcost("report", path, "--notebook", notebook, "-o", str(tmp_path / "r.html"))
    assert run.code == 1
    assert len(run.err.splitlines()) == 1
    assert "--notebook where-the-cycles-go" in run.err
    assert not (tmp_path / "r.html").exists()


# What has no ledger has no notes of one, and what else was found is no failure.
@pytest.mark.parametrize("words", [("energy",), ("ask", "estimates")])
def test_what_needs_no_ledger_is_answered(netcost: Netcost, words: tuple[str, ...]) -> None:
    run = netcost(*words, SAMPLE)
    assert (run.code, run.err) == (0, "")


@pytest.mark.parametrize("command", ["stolen", "ledger"])
def test_what_needs_a_ledger_says_so(netcost: Netcost, path: str, command: str) -> None:
    run = netcost(command, path)
    assert run.code == 1
    assert len(run.err.splitlines()) == 1
    assert "no ledger" in run.err
