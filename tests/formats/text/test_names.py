# Events by their names: the full one, the bare one, and the one that a text happens to print.

from pathlib import Path

import pytest

from netcost_analysis import CaptureError, open_capture
from support.doors import DOORS
from support.run_cli import Netcost

LINES = """\
      sh-500 [000] ..... 1.000001: softirq_entry: vec=3 [action=NET_RX]
      sh-500 [000] ..... 1.000002: cpu_frequency: state=1 cpu_id=0
      sh-500 [000] ..... 1.000003: softirq_exit: vec=3 [action=NET_RX]
"""
PERF_LINES = """\
sh 500 [000] 1.000001: sched:wakeup: a
sh 500 [000] 1.000002: block:wakeup: b
sh 500 [000] 1.000003: power:cpu_frequency: c
sh 500 [000] 1.000004: cycles:u:  401000 main (/bin/sh)
"""


@pytest.mark.parametrize("door", DOORS)
def test_bare_names_where_one_system_has_the_event(tmp_path: Path, door: str) -> None:
    capture = open_capture(DOORS[door](tmp_path))
    wanted = capture.events("napi:napi_poll")
    assert len(wanted) > 0
    assert capture.events("napi_poll").equals(wanted)


def test_bare_names_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    netcost = Netcost(monkeypatch, capsys)
    path = tmp_path / "trace.txt"
    path.write_text(LINES)
    bare, full = (
        netcost("events", str(path), name, "--json")
        for name in ("softirq_entry", "irq:softirq_entry")
    )
    assert bare.out == full.out
    assert '"vec": 3' in full.out


# Of what the text does not tell the system of, its own word is taken for it.
def test_full_names_of_what_a_text_gives_bare(tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    path.write_text(LINES)
    capture = open_capture(path)
    for name in ("cpu_frequency", "power:cpu_frequency"):
        assert capture.events(name)["text"].tolist() == ["state=1 cpu_id=0"]
    with pytest.raises(CaptureError, match="no event 'timer:softirq_entry'"):
        capture.events("timer:softirq_entry")


def test_bare_names_that_several_systems_have_say_so(tmp_path: Path) -> None:
    path = tmp_path / "script.txt"
    path.write_text(PERF_LINES)
    capture = open_capture(path)
    assert capture.events("cpu_frequency")["text"].tolist() == ["c"]
    with pytest.raises(CaptureError, match=r"'wakeup'; .*block:wakeup") as error:
        capture.events("wakeup")
    assert "sched:wakeup" in str(error.value)
    with pytest.raises(CaptureError, match="no event 'u'"):
        capture.events("u")
