import sys
import time

import pytest

from netcost_analysis import progress as module


# Called in a test, not a fixture: pytest captures a test's standard error and its fixtures' apart.
def watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)


def run(steps: int = 4) -> bool:
    with module.progress("reading") as advance:
        if advance is None:
            return False
        for step in range(steps):
            advance(step / steps)
    return True


def test_silent_when_piped(capsys: pytest.CaptureFixture[str]) -> None:
    assert not run()
    assert capsys.readouterr().err == ""


def test_silent_for_the_first_second(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch(monkeypatch)
    assert run()
    assert capsys.readouterr().err == ""


def test_a_bar_for_what_lasts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch(monkeypatch)
    clock = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    assert run()
    assert "reading" in capsys.readouterr().err


def test_silent_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    watch(monkeypatch)
    monkeypatch.setenv("NETCOST_PROGRESS", "0")
    assert not run()


def test_a_bar_says_how_much_of_it_is_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch(monkeypatch)
    clock = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with module.progress("reading", module.Amount(45_500_000, 3_700_000_000)) as advance:
        assert advance is not None
        advance(0.5)
    said = capsys.readouterr().err
    assert "22.8 of 45.5" in said
    assert "1,850 of 3,700" in said
    assert "<" in said
