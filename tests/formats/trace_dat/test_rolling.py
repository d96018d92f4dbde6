# A tracefs folder in a bundle whose manifest says that it rolled: what a CPU's ring lost before its
# oldest event was overwritten, what it lost behind that is lost.

import json
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import open_capture
from netcost_analysis._native import Capture
from support.perfdata import Recording, cpu, recording
from support.perfdata import happenings as h
from support.tracedat import Dress, write_trace_dat, write_tracefs

S = 1_000_000_000
UNTIL = {"condition": "softirq>30%", "held": True, "ended_by": "condition"}


def rolled() -> Recording:
    return recording(
        cpu(0, h.Lost(S - 5, 70_000), *raised(S + 400), h.Lost(S + 500, 5), *raised(S + 600)),
        cpu(1, *raised(S), *raised(S + 900)),
    )


def raised(at: int) -> tuple[h.Happening, ...]:
    return (h.SoftirqRaise(at, 3), h.SoftirqEntry(at + 10, 3), h.SoftirqExit(at + 20, 3))


def bundle(folder: Path, dress: Dress, until: dict[str, Any] | None) -> Path:
    folder.mkdir()
    write_tracefs(rolled(), folder / "trace.tracefs", dress)
    said = {"netcost_bundle": 1, "tool": "tracefs", "trace": "trace.tracefs", "until": until}
    (folder / "manifest.json").write_text(json.dumps(said))
    return folder


def gaps(path: Path) -> list[tuple[object, ...]]:
    names = ("cpu", "start_ns", "end_ns", "why", "lost")
    return [tuple(row[name] for name in names) for row in open_capture(path).info["coverage"]]


# The kernel writes the number into the page only where that has room for it.
@pytest.mark.parametrize("counted", [True, False])
def test_what_was_overwritten_is_not_lost(tmp_path: Path, counted: bool) -> None:
    path = bundle(tmp_path / "b", Dress(count_losses=counted), UNTIL)
    assert gaps(path) == [
        (0, S, S + 400, "overwritten", 70_000 if counted else 0),
        (0, S + 420, S + 600, "events were lost", 5 if counted else 0),
    ]
    capture = open_capture(path)
    lost = ("lost_events", "lost_unknown")
    assert [capture.info[name] for name in lost] == ([5, 0] if counted else [0, 1])
    timeline = capture.timeline()
    assert [timeline.summary[name] for name in lost] == ([5, 0] if counted else [0, 1])
    whys = timeline.coverage["why"].tolist()
    assert [whys[0], len(whys)] == ["overwritten", 2]


# As trace-cmd counts them.
@pytest.mark.parametrize("counted", [True, False])
def test_of_a_recording_that_did_not_roll_all_is_lost(tmp_path: Path, counted: bool) -> None:
    dress = Dress(count_losses=counted)
    told = gaps(bundle(tmp_path / "b", dress, None))
    assert [row[3] for row in told] == ["events were lost"] * 2
    same = write_trace_dat(rolled(), tmp_path / "trace.dat", dress)
    assert gaps(tmp_path / "b" / "trace.tracefs") == gaps(same) == told
    scan = Capture(str(same)).scan()
    lost = (scan["lost_events"], scan["lost_unknown"])
    assert lost == ((70_005, 0) if counted else (0, 2))
