# What is shown of texts with lines that could not be read: nothing is said of the CPUs' time around
# them. What tables and ledger have of it: native/tests/formats/text/passed_over.rs.

from pathlib import Path

import pytest

import netcost_analysis
from support.run_cli import Netcost
from support.text_capture import capture
from support.text_steps import BEFORE, BEHIND


def test_the_share_that_is_known(tmp_path: Path) -> None:
    capture(tmp_path, f"{BEFORE}[ 4 lines snipped ]\n{BEHIND}")
    opened = netcost_analysis.open_capture(tmp_path / "trace.txt")
    assert opened.info["recorded"] == pytest.approx(0.5)
    assert opened.timeline().unknown_cpu_share == pytest.approx(0.5, abs=0.11)


# Where no time is known, nothing has a length.
def test_a_text_without_times_has_gaps_of_no_length(netcost: Netcost, tmp_path: Path) -> None:
    for between in ("??", "CPU:0 [LOST 5 EVENTS]", "CPU:1 [LOST EVENTS]"):
        calls = " 0)               |  sys_open() {\n 1)   0.382 us    |    __might_sleep();\n"
        (tmp_path / "calls.txt").write_text(f"{calls}{between}\n{calls}")
        shown = netcost("info", str(tmp_path / "calls.txt"), "--json").json
        assert (shown["coverage"], shown["recorded"]) == ([], None)
        assert netcost("info", str(tmp_path / "calls.txt")).code == 0
