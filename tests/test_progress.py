import itertools
import re
import sys
import time

import pytest

from netcost_analysis import progress as module


# Called in a test, not a fixture: pytest captures a test's standard error and its fixtures' apart.
def advanced(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    watched: bool = True,
    step_s: int = 1,
) -> str:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: watched, raising=False)
    clock = itertools.count(0, step_s)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with module.progress("reading", module.Amount(45_500_000, 3_700_000_000)) as advance:
        if advance is not None:
            advance(0.5)
    return capsys.readouterr().err


def test_a_bar_says_how_much_of_it_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = advanced(monkeypatch, capsys)
    for part in ("reading", "22.8 of 45.5", "1,850 of 3,700", "<"):
        assert part in said


@pytest.mark.parametrize(
    ("watched", "step_s", "asked"),
    [(False, 1, ""), (True, 0, ""), (True, 1, "0")],
    ids=["piped", "in the first second", "on request"],
)
def test_it_is_silent(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    watched: bool,
    step_s: int,
    asked: str,
) -> None:
    if asked:
        monkeypatch.setenv("NETCOST_PROGRESS", asked)
    assert advanced(monkeypatch, capsys, watched, step_s) == ""


def test_steps_show_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    # Half is done 40 s after the start, though the bar is new then.
    clock = iter([0, 40, 40, 40])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    steps = module.each("asking", ["one", "two"])
    assert [next(steps), next(steps)] == ["one", "two"]
    said = capsys.readouterr().err
    steps.close()
    assert "asking" in said
    assert re.search(r"00:4\d<00:4\d", said)
