# What the tests need from the machine, and how they say that it is not there.

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from run_cli import Netcost

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
REQUIRED = os.environ.get("NETCOST_REQUIRE_TOOLS") == "1"

# Writing and reading a file per example is slow beside what hypothesis expects, and steady seeds
# keep CI quiet.
settings.register_profile(
    "netcost", deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
settings.register_profile(
    "search", deadline=None, suppress_health_check=list(HealthCheck), max_examples=2000
)
settings.load_profile(os.environ.get("NETCOST_HYPOTHESIS", "netcost"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes long; deselect with -m 'not slow'")


def missing(reason: str) -> None:
    if REQUIRED:
        pytest.fail(f"{reason} (and NETCOST_REQUIRE_TOOLS=1 asks for it)")
    pytest.skip(reason)


def require_tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        missing(f"needs {name}, which is not installed")
    return found or ""


def require_root_tracing() -> str:
    perf = require_tool("perf")
    probe = [perf, "record", "-q", "-a", "-o", os.devnull, "-e", "sched:sched_switch", "--", "true"]
    done = subprocess.run(probe, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        missing(f"needs root and tracefs to record tracepoints: {done.stderr.strip()[:200]}")
    return perf


def require_shared(folder: str) -> Path:
    path = SHARED / folder
    # Material of the people who work on the project, never in a clone: absent is no failure, even
    # in CI.
    if not path.is_dir():
        pytest.skip(f"needs ../shared/{folder} beside the repository")
    return path


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from live import EVENTS, VECTORS, record, vectors_are_recordable

    folder = tmp_path_factory.mktemp("live")
    vectors = VECTORS if vectors_are_recordable(folder / "probe") else []
    return record(folder / "perf.data", events=EVENTS + vectors)


@pytest.fixture
def netcost(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "Netcost":
    from run_cli import Netcost

    return Netcost(monkeypatch, capsys)


# Where bundles are unpacked, and nothing else.
@pytest.fixture
def unpacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "unpacking"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


# An environment whose TMPDIR must be empty again.
@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[dict[str, str]]:
    folder = tmp_path / "tmp"
    folder.mkdir()
    yield {**os.environ, "TMPDIR": str(folder)}
    assert list(folder.iterdir()) == []
