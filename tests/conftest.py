# What the tests need from the machine, and how they say that it is not there.

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from run_cli import Netcost

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
REQUIRED = os.environ.get("NETCOST_REQUIRE_TOOLS") == "1"

# What a helper asserts is shown with its values, as what a test asserts.
pytest.register_assert_rewrite(
    *(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem[:5] != "test_")
)

# Writing and reading a file per example is slow beside what hypothesis expects, and steady seeds
# keep CI quiet.
settings.register_profile(
    "netcost", deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
settings.register_profile(
    "search", deadline=None, suppress_health_check=list(HealthCheck), max_examples=2000
)
settings.load_profile(os.environ.get("NETCOST_HYPOTHESIS", "netcost"))


TRACING = "/sys/kernel/tracing/"
running: pytest.Item | None = None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        # Compared with perf to the last event, that recording suffers from what else is recorded.
        if "live" in getattr(item, "fixturenames", ()):
            item.add_marker("alone")
        if item.get_closest_marker("alone"):
            item.add_marker("live")


# Before any fixture of the test, of whatever scope.
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    global running
    running = item
    if item.get_closest_marker("alone") and "PYTEST_XDIST_WORKER" in os.environ:
        pytest.fail("it runs alone: leave out -n, or select -m 'not alone'")


# A mark that is forgotten is found out here, and not by a test that fails now and then.
def require_live() -> None:
    require_mark("live", "records or changes this host")


def require_alone() -> None:
    require_mark("alone", "takes what this host has once")


def require_mark(name: str, reason: str) -> None:
    if running is not None and running.get_closest_marker(name) is None:
        pytest.fail(f"it {reason}: mark it {name} (docs/development.md)")


def changes_host(command: Sequence[Any]) -> bool:
    paths = [Path(os.fsdecode(word)) for word in command]
    names = {path.name for path in paths}
    capture = ROOT / "capture"
    if {"trace-cmd", "record"} <= names:
        require_alone()
    if {"perf", "record"} <= names or {"ip", "add"} <= names:
        return True
    # Checked by shellcheck they are but text.
    return "shellcheck" not in names and any(
        path == capture / "netcost-record" or path.parent == capture / "lab" for path in paths[:2]
    )


# Not every test asks one of the helpers first.
def audit(event: str, given: tuple[Any, ...]) -> None:
    match event, given:
        case "subprocess.Popen", (_, list() | tuple() as command, *_):
            if changes_host(command):
                require_live()
        case "open", (str() as path, _, int() as flags):
            if path.startswith(TRACING) and flags & (os.O_WRONLY | os.O_RDWR):
                require_live()


sys.addaudithook(audit)


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
    require_live()
    perf = require_tool("perf")
    if refusal := refused_to_perf(perf):
        missing(f"needs root and tracefs to record tracepoints: {refusal[:200]}")
    return perf


# With records of BPF programs perf takes a second to end.
@cache
def refused_to_perf(perf: str) -> str:
    probe = [perf, "record", "-q", "-a", "--no-bpf-event", "-o", os.devnull]
    done = subprocess.run(
        [*probe, "-e", "sched:sched_switch", "--", "true"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stderr.strip() or "it fails" if done.returncode else ""


def require_shared(folder: str) -> Path:
    path = SHARED / folder
    # Material of the people who work on the project, never in a clone: absent is no failure, even
    # in CI.
    if not path.is_dir():
        pytest.skip(f"needs ../shared/{folder} beside the repository")
    return path


Fresh = Callable[[], Path]


# A folder for one of hypothesis' examples. mktemp() and tmp_path look at all that were ever made
# before they make one: beside thousands of these that takes longer than many a test.
@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    folder = tmp_path_factory.mktemp("examples")
    return lambda: Path(tempfile.mkdtemp(dir=folder))


# The samples stay unpacked while tests run. Where a test says where to unpack, it looks there.
@pytest.fixture(scope="session", autouse=True)
def samples_unpacked() -> Iterator[None]:
    from netcost_analysis.capture.packed import Unpacked

    make, place, held = Unpacked.__init__, tempfile.gettempdir(), []

    def keep(self: Unpacked, source: Path) -> None:
        make(self, source)
        if source.resolve().is_relative_to(ROOT / "sample-data") and tempfile.gettempdir() == place:
            held.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Unpacked, "__init__", keep)
        yield
    held.clear()


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
