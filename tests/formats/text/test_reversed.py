# A text with its newest lines first, as tac gives it: its times tell no durations, and no figure is
# given.

import re
from pathlib import Path

from netcost_analysis import open_capture
from support.run_cli import Netcost
from support.text_capture import capture
from support.text_kinds import lines


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
