# A text with its newest lines first, as tac gives it: its times tell no durations, and no figure is
# given. Single lines in the wrong place are held, as in any text.

import re
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from netcost_analysis._native import CaptureError
from support.native_tables import Answer
from support.run_cli import Netcost
from support.text_capture import capture
from support.text_mutants import LINES, lines


def turned(tmp_path: Path, kind: str) -> Path:
    whole = lines(kind)
    events = [line for line in whole if not line.startswith(("#", "cpus="))]
    capture(tmp_path, "\n".join([*whole[: -len(events)], *reversed(events)]))
    return tmp_path / "trace.txt"


# What the others refuse, info does not call recorded.
def test_info_says_so(netcost: Netcost, tmp_path: Path) -> None:
    path = str(turned(tmp_path, "perf"))
    refused = netcost("ledger", path)
    why = refused.err.strip().removeprefix(f"netcost: {path}: ")
    assert (refused.code, why[:10]) == (1, "no ledger:")
    out = netcost("info", path).out
    assert re.search(r"^recorded +unknown$", out, re.MULTILINE)
    assert re.search(rf"^note +{re.escape(why)}$", out, re.MULTILINE)
    info = netcost("info", path, "--json").json
    assert (info["recorded"], info["notes"][-1]) == (None, why)
    assert why in repr(open_capture(path))


def test_info_of_a_text_that_is_read(netcost: Netcost, tmp_path: Path) -> None:
    capture(tmp_path, "\n".join(lines("perf")))
    info = netcost("info", str(tmp_path / "trace.txt"), "--json").json
    assert 0.99 < info["recorded"] < 1
    assert not [note for note in info["notes"] if "no ledger" in note]


def test_newest_lines_first_are_refused(tmp_path: Path) -> None:
    for kind in sorted(LINES):
        turned(tmp_path, kind)
        with pytest.raises(CaptureError, match=r"^no ledger: .*\(tac "):
            Answer(tmp_path / "trace.txt")


def test_a_text_twice_or_with_lines_exchanged_is_read(tmp_path: Path) -> None:
    whole = lines("perf")
    capture(tmp_path, "\n".join([*whole, *whole]))
    assert Answer(tmp_path / "trace.txt").summary["backwards"] > 0
    whole[10], whole[12] = whole[12], whole[10]
    capture(tmp_path, "\n".join(whole))
    assert Answer(tmp_path / "trace.txt").summary["backwards"] > 0
