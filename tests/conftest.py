# How the tests are run, and the fixtures of all.

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

gc.set_threshold(500_000, 20, 100)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# jsonschema, which nbformat imports, compiles its grammar in more than a second: in each worker.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

# What a helper asserts is shown with its values, as what a test asserts: said before any is
# imported.
pytest.register_assert_rewrite("support")

from support.host import ROOT, Fresh, Reading, audit, evidence, reading, runs  # noqa: E402  # noqa: E402

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from support.run_cli import Netcost

BEGUN = pytest.StashKey[Reading]()

# Writing and reading a file per example is slow beside what hypothesis expects, and steady seeds
# keep CI quiet.
settings.register_profile(
    "netcost", deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
settings.register_profile(
    "search", deadline=None, suppress_health_check=list(HealthCheck), max_examples=1_000
)
settings.load_profile(os.environ.get("NETCOST_HYPOTHESIS", "netcost"))


# Tests make files and remove them by the ten thousand. A disk that is told of each that goes
# (mounted with `discard`) takes milliseconds for it, memory none. What is recorded goes where users
# record.
@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # Behind nohup, or in the background of a script, programs would inherit that they are ignored.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    memory = "/dev/shm"
    if "not live" in config.option.markexpr and os.access(memory, os.W_OK):
        found = os.statvfs(memory)
        if found.f_bavail * found.f_frsize > 4 << 30 and not found.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", memory)
            # Samples are unpacked there too, in thousands of files, and browsers leave theirs: the
            # workers have the folder of the first process, which removes it.
            if "TMPDIR" not in os.environ:
                os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="netcost-tests-", dir=memory)
                # pytest's capture has asked for the folder already.
                tempfile.tempdir = None
                config.add_cleanup(partial(shutil.rmtree, os.environ["TMPDIR"], True))


# What experiments and comparisons of samples answer is computed once: files that ask the same ones
# stay on one worker.
TOGETHER = (
    *("questions/test_answers.py", "questions/comparison/", "questions/sweep/"),
    "questions/accounting/test_hidden_cost.py",
)
# A file's tests stay on one worker, so what takes longest begins first, and no worker is left with
# it at the end.
LONGEST = (
    *TOGETHER,
    *("cli/test_transcripts.py", "ledger/test_batches.py", "formats/", "report/"),
    *("kit/test_killed.py", "kit/test_repeat.py", "kit/test_names.py", "kit/test_preflight.py"),
)

# These take five seconds or more where nothing else runs: beside others the minute that the gate
# gives a test would end them by chance, as it would a browser that starts.
PATIENT = (
    *("questions/test_answers.py", "cli/test_transcripts.py", "ledger/test_batches.py"),
    *("ledger/test_threads.py", "timeline/test_windows_read_no_further.py", "test_suite.py"),
    *("test_docs.py", "cli/test_first_answer.py", "report/", "test_fleet.py"),
    *("questions/sweep/", "questions/comparison/"),
)
PATIENCE_S = 300


@pytest.hookimpl
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "together" if file.removeprefix("tests/").startswith(TOGETHER) else file

    return Together(config, log) if config.getvalue("dist") == "loadfile" else None


def name_of(item: pytest.Item) -> str:
    return item.path.relative_to(ROOT / "tests").as_posix()


def turn(item: pytest.Item) -> int:
    name = name_of(item)
    return next((place for place, of in enumerate(LONGEST) if name.startswith(of)), len(LONGEST))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=turn)
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if name_of(item).startswith(PATIENT) or "driver" in fixtures:
            item.add_marker(pytest.mark.timeout(PATIENCE_S))
        # Compared with perf to the last event, that recording suffers from what else is recorded.
        if "live" in fixtures:
            item.add_marker("alone")
        if item.get_closest_marker("measures"):
            item.add_marker("alone")
        if item.get_closest_marker("alone"):
            item.add_marker("live")


# What is imported by then is looked at no more.
@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.freeze()


# Before any fixture of the test, of whatever scope.
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    runs(item)
    if item.get_closest_marker("alone") and "PYTEST_XDIST_WORKER" in os.environ:
        pytest.fail("it runs alone: leave out -n, or select -m 'not alone'")
    if item.get_closest_marker("measures"):
        item.stash[BEGUN] = reading()


# What .ci/lane reads of a test that failed; with evidence it is run again.
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception):
        item.user_properties.append(("test", item.nodeid))
        if BEGUN in item.stash:
            item.user_properties.append(("evidence", evidence(item.stash[BEGUN])))


sys.addaudithook(audit)


# A folder for one of hypothesis' examples. mktemp() and tmp_path look at all that were ever made
# before they make one: beside thousands of these that takes longer than many a test.
@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    folder = tmp_path_factory.mktemp("examples")
    return lambda: Path(tempfile.mkdtemp(dir=folder))


# The samples stay unpacked while tests run. Where a test says where to unpack, it looks there.
@pytest.fixture(scope="session", autouse=True)
def samples_unpacked() -> Iterator[None]:
    from netcost_analysis.capture.packed import Unpacking

    make, place, held = Unpacking.__init__, tempfile.gettempdir(), []

    def keep(self: Unpacking, source: Path) -> None:
        make(self, source)
        if source.resolve().is_relative_to(ROOT / "sample-data") and tempfile.gettempdir() == place:
            held.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Unpacking, "__init__", keep)
        yield
    held.clear()


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support.live import EVENTS, VECTORS, record, vectors_are_recordable

    folder = tmp_path_factory.mktemp("live")
    vectors = VECTORS if vectors_are_recordable(folder / "probe") else []
    return record(folder / "perf.data", events=EVENTS + vectors)


# Of guests with real NIC drivers.
@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support.shared import unpack

    return unpack(tmp_path_factory.mktemp("nic"))


@pytest.fixture
def netcost(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "Netcost":
    from support.run_cli import Netcost

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


# Where a picture is drawn; what it shows on its x axis has a unit.
@pytest.fixture
def ax() -> "Iterator[Axes]":
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from netcost_analysis.plots.palette import style

    mpl.use("agg")
    with style():
        figure = Figure(figsize=(10, 3))
        axes = figure.subplots()
        yield axes
        figure.canvas.draw()
        assert axes.get_xlabel(), "an axis without its unit"
