# netcost fleet-report: what changed first, tables that fit a mail, hostile names as text.

import re
from pathlib import Path

import pytest

from support.fleets import REGRESSED, Told, dataset, days
from support.run_cli import Netcost

HOSTILE = "<script>alert(1)</script>\n| a | \x1b[31m`$x_{1"


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
    told = [Told(host=HOSTILE, kernel="6.1<b>", driver="*d*|x", day=day) for day in range(12)]
    folder = str(dataset(tmp_path / "fleet", [*told, Told(host=HOSTILE, batch=1, day=13)]))
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
