# How often a command reads a capture: ledger and stolen once, and once more for the victim's run
# where the bundle has one; where packets name owners, stolen reads those events in another pass.

from types import SimpleNamespace
from typing import Any

import pytest

from netcost_analysis import _native
from netcost_analysis.capture import recording
from support.host import ROOT
from support.run_cli import Netcost

SAMPLES = ROOT / "sample-data"
# Methods that go through the events.
PASSES = (
    *("scan", "timeline", "counts", "task_events", "events", "all_events", "event_batches"),
    *("samples", "stacks"),
    *("mappings", "kernel_symbols"),
)


class Counted:
    """A native capture that tells which of its methods went through its events."""

    def __init__(self, native: Any, passes: list[str]) -> None:
        self._native, self._passes = native, passes

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._native, name)
        if name not in PASSES:
            return found

        def told(*of: Any, **more: Any) -> Any:
            # The ledger's pass scans too.
            if name != "scan" or "timeline" not in self._passes:
                self._passes.append(name)
            return found(*of, **more)

        return told


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []

    def opened(*of: Any) -> Counted:
        return Counted(_native.Capture(*of), found)

    monkeypatch.setattr(
        recording, "_native", SimpleNamespace(**{**vars(_native), "Capture": opened})
    )
    return found


BUNDLES = [
    ("stolen-time-tcp.netcost.tar.zst", ["timeline"]),
    ("nic-guest/6.12-nic-1-flows.netcost.tar.zst", ["timeline"]),
    ("local-migrations.netcost.tar.zst", []),
]


@pytest.mark.parametrize(("bundle", "run"), BUNDLES)
def test_a_capture_is_read_once_and_the_victims_run_again(
    netcost: Netcost, passes: list[str], bundle: str, run: list[str]
) -> None:
    path = str(SAMPLES / bundle)
    ran = netcost("ledger", path)
    assert ran.code == 0, ran.err
    assert passes == ["timeline", *run]
    for words in ([], ["--victim", "openssl", "--json"]):
        passes.clear()
        assert netcost("stolen", path, *words).code == 0, words
        # What tells of tasks is asked once more, to the end of their run; forks, where there is no
        # victim, to choose none that the recorder started.
        of_tasks = "task_events" if run else "events"
        assert passes.count(of_tasks) <= 1, words
        others = [one for one in passes if one != of_tasks]
        assert others == ["timeline", *run], words
