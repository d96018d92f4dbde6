# How often a command reads a capture: ledger and stolen once; where packets name owners, stolen
# reads those events in a second pass.

from types import SimpleNamespace
from typing import Any

import pytest

from netcost_analysis import _native
from netcost_analysis.capture import capture
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

    monkeypatch.setattr(capture, "_native", SimpleNamespace(**{**vars(_native), "Capture": opened}))
    return found


BUNDLES = [
    ("nic-stolen-time", []),
    ("veth-stolen-time", []),
    ("stolen-time-tcp.netcost.tar.zst", []),
    ("stolen-time-top.netcost.tar.zst", []),
    ("nic-guest/6.12-nic-1-flows.netcost.tar.zst", []),
    ("local-migrations.netcost.tar.zst", ["event_batches"]),
]


@pytest.mark.parametrize(("bundle", "more"), BUNDLES)
def test_a_capture_is_read_once(
    netcost: Netcost, passes: list[str], bundle: str, more: list[str]
) -> None:
    path = str(SAMPLES / bundle)
    ran = netcost("ledger", path)
    assert ran.code == 0, ran.err
    assert passes == ["timeline"]
    for words in ([], ["--json"], ["--victim", "openssl"], ["--victim", "openssl", "--json"]):
        passes.clear()
        assert netcost("stolen", path, *words).code == 0, words
        assert passes == ["timeline", *more], words
