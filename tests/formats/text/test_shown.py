# What Python and the command line make of texts. What is read of them:
# native/tests/formats/text.

import re
from pathlib import Path

import pytest

from netcost_analysis import CaptureError, open_capture
from support.doors import DOORS
from support.run_cli import Netcost
from support.texts import BEFORE, BEHIND, capture, lines

NAMES = """\
sh 500 [000] 1.000001: sched:wakeup: a
sh 500 [000] 1.000002: block:wakeup: b
sh 500 [000] 1.000003: power:cpu_frequency: c
sh 500 [000] 1.000004: cycles:u:  401000 main (/bin/sh)
"""


# By its bare name, where one system has the event.
@pytest.mark.parametrize("door", DOORS)
def test_bare_names_of_events(tmp_path: Path, door: str) -> None:
    capture = open_capture(DOORS[door](tmp_path))
    wanted = capture.events("napi:napi_poll")
    assert len(wanted) > 0
    assert capture.events("napi_poll").equals(wanted)
    with pytest.raises(CaptureError, match="no event 'timer:napi_poll'"):
        capture.events("timer:napi_poll")


# Of what the text does not tell the system of, its own word is taken for it.
def test_full_names_of_what_a_text_gives_bare(tmp_path: Path) -> None:
    line = "      sh-500 [000] ..... 1.000002: cpu_frequency: state=1 cpu_id=0\n"
    capture(tmp_path, line)
    opened = open_capture(tmp_path / "trace.txt")
    for name in ("cpu_frequency", "power:cpu_frequency"):
        assert opened.events(name)["text"].tolist() == ["state=1 cpu_id=0"]


def test_bare_names_that_several_systems_have_say_so(tmp_path: Path) -> None:
    capture(tmp_path, NAMES)
    opened = open_capture(tmp_path / "trace.txt")
    assert opened.events("cpu_frequency")["text"].tolist() == ["c"]
    with pytest.raises(CaptureError, match=r"'wakeup'; .*sched:wakeup.*block:wakeup"):
        opened.events("wakeup")
    with pytest.raises(CaptureError, match="no event 'u'"):
        opened.events("u")


# Nothing is said of the CPUs' time around lines that could not be read.
def test_the_share_that_is_known(tmp_path: Path) -> None:
    capture(tmp_path, f"{BEFORE}[ 4 lines snipped ]\n{BEHIND}")
    opened = open_capture(tmp_path / "trace.txt")
    assert opened.info["recorded"] == pytest.approx(0.5)
    assert opened.timeline().unknown_cpu_share == pytest.approx(0.5, abs=0.11)


# Where no time is known, nothing has a length.
@pytest.mark.parametrize("between", ["??", "CPU:0 [LOST 5 EVENTS]", "CPU:1 [LOST EVENTS]"])
def test_a_text_without_times_has_gaps_of_no_length(tmp_path: Path, between: str) -> None:
    calls = " 0)               |  sys_open() {\n 1)   0.382 us    |    __might_sleep();\n"
    capture(tmp_path, f"{calls}{between}\n{calls}")
    info = open_capture(tmp_path / "trace.txt").info
    assert (info["coverage"], info["recorded"]) == ([], None)


# A text with its newest lines first, as tac gives it: its times tell no durations, no figure is
# given, and what the others refuse, info does not call recorded.
def test_newest_lines_first(netcost: Netcost, tmp_path: Path) -> None:
    path, whole = str(tmp_path / "trace.txt"), lines("perf")
    capture(tmp_path, "\n".join(whole))
    info = netcost("info", path, "--json").json
    assert 0.99 < info["recorded"] < 1
    assert not [note for note in info["notes"] if "no ledger" in note]
    capture(tmp_path, "\n".join(reversed(whole)))
    refused = netcost("ledger", path)
    why = refused.err.strip().removeprefix(f"netcost: {path}: ")
    assert (refused.code, why[:10]) == (1, "no ledger:")
    info = netcost("info", path, "--json").json
    assert (info["recorded"], info["notes"][-1]) == (None, why)
    assert re.search(r"^recorded +unknown$", netcost("info", path).out, re.MULTILINE)
    assert why in repr(open_capture(path))
