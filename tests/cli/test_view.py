# netcost view --text: lanes that can be read with colours and without.

import re
from pathlib import Path

import pytest

from netcost_analysis.plots.palette import KIND
from support.host import ROOT
from support.hostile import NAMES
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.run_cli import Netcost
from support.told import OPENSSL

NIC = str(ROOT / "sample-data" / "nic-stolen-time")
S = 1_000_000_000


def test_a_terminal_gets_colours(netcost: Netcost, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = netcost("view", NIC, "--text", "--width", "80", "--cpu", "0")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with monkeypatch.context() as only:
        only.setattr("sys.stdout.isatty", lambda: True)
        coloured = netcost("view", NIC, "--text", "--cpu", "0")
    red, green, blue = (int(KIND["poll"][at : at + 2], 16) for at in (1, 3, 5))
    assert f"\x1b[38;2;{red};{green};{blue}m" in coloured.out
    without = re.sub(r"\x1b\[[\d;]*m", "", coloured.out)
    lanes = [line.rstrip() for line in plain.out.splitlines() if line[24:25] in "▁▂▃▄▅▆▇█ "]
    assert [line for line in lanes if "█" in line or "▁" in line]
    for line in lanes:
        if "█" in line or "▁" in line:
            assert line in [one.rstrip() for one in without.splitlines()]


def test_a_name_steers_no_terminal(tmp_path: Path, netcost: Netcost) -> None:
    for name in NAMES:
        told = recording(cpu(0, h.Switch(S, OPENSSL), h.Switch(S + 9_000, h.Task(7, name[:15]))))
        run = netcost("view", str(told.write(tmp_path / "perf.data")), "--text")
        assert run.code == 0, run.err
        assert "\x1b" not in run.out
