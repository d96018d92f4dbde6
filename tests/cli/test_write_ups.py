# netcost sweep and fleet-report: what matters first, tables that fit a mail, hostile names as text.

import re
from pathlib import Path

import pytest

from support.fleets import REGRESSED, dataset, days
from support.fleets import Told as Asked
from support.run_cli import Netcost
from support.sweeps import Told, sweep

HOSTILE = "<script>\x1b[1m`x"


def test_the_text_of_a_sweep(netcost: Netcost, tmp_path: Path) -> None:
    steps = [
        Told(path, rate=rate, scatter=0.2, packet_ns=cost, seed=cost + rate, rounds=100)
        for path, cost in (("bridge", 2_500), ("xdp", 900))
        for rate in (2_000, 20_000)
    ]
    folder = sweep(tmp_path / "mine", *steps).path
    printed = netcost("sweep", str(folder))
    lines = printed.out.splitlines()
    assert lines[3].startswith("xdp ")
    assert " 2 of 2" in lines[3]
    assert lines[-1].split() == ["capture/lab/datapath-sweep", "-o", "mine"]
    tables = [line for line in lines if not line.startswith("    ")]
    # A checksum and the folder's name are words of their own.
    assert all(len(line) <= 72 or " " not in line for line in tables)
    assert "mpstat was" in " ".join(lines)
    text = tmp_path / "out.txt"
    assert netcost("sweep", str(folder), "-o", str(text)).out == f"write-up in {text}\n"
    assert text.read_text() == printed.out


def test_hostile_labels_steer_no_terminal(netcost: Netcost, tmp_path: Path) -> None:
    experiment = sweep(tmp_path / "s", Told(rounds=64), Told(HOSTILE, rounds=64))
    printed = netcost("sweep", str(experiment.path))
    assert printed.code == 0
    assert "\x1b" not in printed.out
    assert "<script>" in printed.out


def test_what_is_no_sweep(netcost: Netcost, tmp_path: Path) -> None:
    experiment = sweep(tmp_path / "s", Told(rounds=64))
    table = experiment.path / "steps.tsv"
    table.write_text(table.read_text().replace("offered_pps", "colour"))
    run = netcost("sweep", str(experiment.path))
    assert (run.code, run.out) == (1, "")
    assert run.err.count("\n") == 1
    assert "not a sweep" in run.err


HOST = "<script>alert(1)</script>\n| a | \x1b[31m`$x_{1"


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(dataset(tmp_path / "fleet", days(factor=1.15), unreadable=1))


def test_the_text_of_a_fleet(netcost: Netcost, folder: str, tmp_path: Path) -> None:
    printed = netcost("fleet-report", folder)
    lines = printed.out.splitlines()
    assert (printed.code, printed.err) == (0, "")
    assert re.findall(r"\d+ \w+", lines[3])[:3] == ["57 captures", "4 hosts", "2 kernels"]
    said = " ".join(lines)
    assert re.search(rf"{REGRESSED}, driver ixgbe:.*?\+1\d", said)
    # Commands are copied whole.
    assert all(len(line) <= 72 for line in lines if not line.startswith("    "))
    assert sum(line.startswith("    netcost report ") for line in lines) >= 6
    text = tmp_path / "out.txt"
    assert netcost("fleet-report", folder, "-o", str(text)).out == f"write-up in {text}\n"
    assert text.read_text() == printed.out


def test_a_question_of_a_fleet_in_a_shell(netcost: Netcost, folder: str) -> None:
    rows = netcost("ask", "by_host", folder, "--json").json
    assert [row["captures"] for row in rows] == [14] * 4
    assert netcost("ask", "by_host", folder, "--start", "1").code == 2
    refused = netcost("ask", "stolen", folder)
    assert (refused.code, "is a fleet" in refused.err) == (1, True)


def test_hostile_names_are_text(netcost: Netcost, tmp_path: Path) -> None:
    told = [Asked(host=HOST, kernel="6.1<b>", driver="*d*|x", day=day) for day in range(12)]
    folder = str(dataset(tmp_path / "fleet", [*told, Asked(host=HOST, batch=1, day=13)]))
    printed = netcost("fleet-report", folder)
    assert printed.code == 0
    assert "\x1b" not in printed.out
    assert "<script>alert(1)</script> | a" in printed.out
    from netcost_analysis import open_fleet

    fleet = open_fleet(folder)
    for name in ("by_host", "by_driver", "by_kernel", "outliers", "trend", "fleet_poll_sizes"):
        answer = fleet.ask(name)
        shown = answer._repr_html_()
        assert "<script" not in shown
        assert "<b>" not in shown
        assert "\x1b" not in shown
        # Drawing is when matplotlib finds fault with a label.
        for picture, _ in answer.evidence():
            assert picture
