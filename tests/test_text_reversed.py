# A text with its newest lines first, as tac gives it: its times tell no durations, and no figure is
# given. Single lines in the wrong place are held, as in any text.

from pathlib import Path

import pytest
from native_tables import Answer
from text_capture import capture
from text_mutants import LINES, lines

from netcost_analysis._native import CaptureError


@pytest.mark.parametrize("kind", sorted(LINES))
def test_newest_lines_first_are_refused(tmp_path: Path, kind: str) -> None:
    whole = lines(kind)
    events = [line for line in whole if not line.startswith(("#", "cpus="))]
    capture(tmp_path, "\n".join([*whole[: -len(events)], *reversed(events)]))
    with pytest.raises(CaptureError, match=r"^no ledger: the times of most lines .* \(tac "):
        Answer(tmp_path / "trace.txt")


def test_a_text_twice_or_with_lines_exchanged_is_read(tmp_path: Path) -> None:
    whole = lines("perf")
    capture(tmp_path, "\n".join([*whole, *whole]))
    assert Answer(tmp_path / "trace.txt").summary["backwards"] > 0
    whole[10], whole[12] = whole[12], whole[10]
    capture(tmp_path, "\n".join(whole))
    assert Answer(tmp_path / "trace.txt").summary["backwards"] > 0
