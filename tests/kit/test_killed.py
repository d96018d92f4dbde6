# netcost-record and netcost-pack, ended at any moment, by SIGKILL too: what lies beside, tracing,
# sysctls, interfaces, namespaces, mounts and processes are as they were, by themselves.

import os
import signal
import subprocess
from pathlib import Path

import pytest

from support.kit.host_snapshot import lasting_differences, snapshot
from support.kit.killed import killed, moment_of, none_runs
from support.kit.pack import PACK, make_bundle
from support.kit.record import RECORD, ended, require_recorder

pytestmark = pytest.mark.live

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# About as long as each takes, until it is written.
RECORD_SECONDS, PACK_SECONDS = 4.0, 0.8
ORDINARY, ALL = 5, 50
TURNS = [pytest.param(n, marks=[] if n < ORDINARY else [pytest.mark.slow]) for n in range(ALL)]
# Some that leave their session, and take no SIGTERM.
STUBBORN = "trap '' TERM; setsid sleep 90 & sleep 90 & sleep 0.6; exit 0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where it works, with what is none of its business: siblings called as what it makes."""
    for name in ("b", "b.lock", "b.partial", "a", "quiet", "netcost-record.kept"):
        (tmp_path / "precious" / name).mkdir(parents=True)
        (tmp_path / "precious" / name / "file").write_text(name)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / "netcost-record.others").mkdir()
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder / "tmp")}


@pytest.mark.parametrize("turn", TURNS)
def test_a_recording_killed_at_any_moment_leaves_nothing(folder: Path, turn: int) -> None:
    tool = ("perf", "tracefs")[turn % 2]
    require_recorder(tool)
    recording_ends(folder, tool, turn)


@pytest.mark.alone
@pytest.mark.parametrize("turn", [pytest.param(n, marks=pytest.mark.slow) for n in range(10)])
def test_so_does_one_into_the_kernels_own_buffer(folder: Path, turn: int) -> None:
    require_recorder("trace-cmd")
    recording_ends(folder, "trace-cmd", turn, buffer=True)


def recording_ends(folder: Path, tool: str, turn: int, buffer: bool = False) -> None:
    number = SIGNALS[turn % len(SIGNALS)]
    moment = moment_of(f"record {tool} {turn}", RECORD_SECONDS)
    before = snapshot(folder, buffer=buffer)
    command = [RECORD, "-o", folder / "b", "--tool", tool, "--victim", STUBBORN, "--load", STUBBORN]
    status = killed(
        [*command, "--baseline"] if turn % 3 == 0 else command,
        moment,
        number,
        env=environment(folder),
        cwd=folder,
    )
    said = f"{tool} ended by {number.name} after {moment} s: {status}"
    assert none_runs(folder, 40) == [], said
    # One that was recorded by then is kept, and is whole.
    if (folder / "b").exists():
        assert (folder / "b" / "manifest.json").stat().st_size > 0, said
        subprocess.run(["rm", "-r", folder / "b"], check=True)
    assert lasting_differences(before, folder, buffer=buffer) == [], said


# What runs others of its kind: trials with each tool, and the recordings of an experiment.
NESTED = {
    "check": (["--check"], 6.0),
    "repeat": (["--repeat", "2", "--alternate", "--load", STUBBORN, "--duration", "0.5"], 12.0),
}


@pytest.mark.alone
@pytest.mark.parametrize("turn", TURNS[ORDINARY - 2 : 10])
@pytest.mark.parametrize("name", NESTED)
def test_so_does_what_records_several_times(folder: Path, name: str, turn: int) -> None:
    require_recorder("tracefs")
    options, longest = NESTED[name]
    moment = moment_of(f"{name} {turn}", longest)
    # A trial may choose trace-cmd.
    before = snapshot(folder, buffer=True)
    command = [RECORD, *options, "--sidecars", "none"]
    command += [] if name == "check" else ["-o", folder / "b", "--tool", "tracefs"]
    number = SIGNALS[turn % len(SIGNALS)]
    status = killed(command, moment, number, env=environment(folder), cwd=folder)
    said = f"{name} ended by {number.name} after {moment} s: {status}"
    assert none_runs(folder, 40) == [], said
    # The recordings that were whole by then are kept, as an experiment of so many.
    if (folder / "b").exists():
        assert (folder / "b" / "experiment.json").stat().st_size > 0, said
        subprocess.run(["rm", "-r", folder / "b"], check=True)
    assert lasting_differences(before, folder, buffer=True) == [], said


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make_bundle(tmp_path_factory.mktemp("bundle"))
    for number in range(120):
        (path / "files" / f"output {number}").write_text(f"line {number}\n" * 2000)
    return path


@pytest.mark.parametrize("turn", TURNS)
def test_packing_killed_at_any_moment_leaves_nothing(folder: Path, bundle: Path, turn: int) -> None:
    number = SIGNALS[turn % len(SIGNALS)]
    moment = moment_of(f"pack {turn}", PACK_SECONDS)
    before, kept = snapshot(folder), snapshot(bundle)
    options = ["--mask", "--trace", "omit"] if turn % 2 else []
    command = [PACK, bundle, "-o", folder / "out.netcost.tar.gz", *options]
    status = killed(command, moment, number, env=environment(folder), cwd=folder)
    said = f"ended by {number.name} after {moment} s: {status}"
    assert none_runs(folder, 10) == [], said
    # Whole, or not there; and so the map and the list of what was masked.
    written = sorted(folder.glob("out*"))
    if written:
        done = subprocess.run(["tar", "-tzf", folder / "out.netcost.tar.gz"], capture_output=True)
        assert done.returncode == 0, f"{said}: {written}"
    for path in written:
        path.unlink()
    assert lasting_differences(before, folder) == [], said
    assert lasting_differences(kept, bundle) == [], said
    again = ended(command, env=environment(folder))
    assert again.returncode == 0, f"{said}, then: {again.stderr}"
