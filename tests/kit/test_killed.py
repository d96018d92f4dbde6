# netcost-record and netcost-pack, ended before and after each of their commands, by SIGKILL too:
# what lies beside, tracing, mounts and processes are as they were, by themselves.

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.kit.host_snapshot import differences, lasting_differences, snapshot, within
from support.kit.moments import Kill, Killer, every_tenth, none_runs
from support.kit.pack import PACK, make_bundle
from support.kit.record import RECORD, TRACING, ended, require_recorder

pytestmark = pytest.mark.live

# Some that leave their session, and take no SIGTERM: it takes seconds to end them.
STUBBORN = "trap '' TERM; setsid sleep 90 & sleep 90 & sleep 0.6; exit 0"
BRIEF = "sleep 0.6"
# What runs others of its kind: trials with each tool, and the recordings of an experiment.
RECORDINGS = {
    "perf": ["--tool", "perf", "--baseline", "--victim", BRIEF, "--load", STUBBORN],
    "tracefs": ["--tool", "tracefs", "--victim", STUBBORN, "--load", BRIEF],
    "trace-cmd": ["--tool", "trace-cmd", "--victim", BRIEF, "--load", BRIEF],
    "check": ["--check"],
    "repeat": [
        *("--tool", "tracefs", "--duration", "0.3"),
        *("--repeat", "2", "--alternate", "--load", STUBBORN),
    ],
}
# A trial may choose trace-cmd, and has 20 s to end.
ALONE = {"trace-cmd": "alone", "repeat": "alone", "check": "measures"}
# The others take minutes: they are in the slow lane alone.
ORDINARY = ("perf", "tracefs", "trace-cmd")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where it works, with what is none of its business: siblings called as what it makes."""
    work = tmp_path / "work"
    for name in ("b", "b.lock", "b.partial", "a", "quiet", "netcost-record.kept"):
        (work / "precious" / name).mkdir(parents=True)
        (work / "precious" / name / "file").write_text(name)
    (work / "tmp" / "netcost-record.others").mkdir(parents=True)
    return work


def cases() -> Iterator[object]:
    for name in RECORDINGS:
        marks = [getattr(pytest.mark, ALONE[name])] if name in ALONE else []
        for tenth in range(10):
            slow = [pytest.mark.slow] * (tenth > 0 or name not in ORDINARY)
            yield pytest.param(name, tenth, marks=[*slow, *marks])


@pytest.mark.parametrize(("name", "tenth"), list(cases()))
def test_a_recording_that_is_killed_leaves_nothing(
    folder: Path, tmp_path: Path, name: str, tenth: int
) -> None:
    require_recorder(name if name == "trace-cmd" else "perf")
    buffer = name in ALONE
    killer = Killer(tmp_path / "killer", writes=str(TRACING))
    command = [RECORD, "--sidecars", "none", *RECORDINGS[name]]
    command += [] if name == "check" else ["-o", folder / "b"]
    options = {"env": {"TMPDIR": str(folder / "tmp")}, "cwd": folder}
    before = snapshot(folder, buffer=buffer)

    def ends(kill: Kill | None) -> None:
        assert none_runs(folder, 40) == [], kill
        # What was recorded by then is kept, by SIGKILL in a folder that has not got its name yet.
        for kept in (folder / "b", folder / "b.partial"):
            if was_recorded(kept, name):
                subprocess.run(["rm", "-r", kept], check=True)
        assert lasting_differences(before, folder, buffer=buffer) == [], kill

    kills = killer.kills(command, tenth, **options)
    ends(None)
    for kill in kills:
        killer.run(command, kill, **options)
        ends(kill)
    assert killer.missed <= len(kills) // 2


def was_recorded(kept: Path, name: str) -> bool:
    if name == "repeat":
        return any(json.loads(one.read_text()) for one in kept.glob("*/manifest.json"))
    traces = list(kept.glob("trace.*")) if (kept / "after" / "stamp").exists() else []
    return any(open_capture(one).info["events"] for one in traces)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make_bundle(tmp_path_factory.mktemp("bundle"))
    for number in range(20):
        (path / "files" / f"output {number}").write_text(f"line {number}\n" * 200)
    return path


@every_tenth
@pytest.mark.parametrize("options", [[], ["--mask", "--trace", "omit"]], ids=["whole", "masked"])
def test_packing_that_is_killed_leaves_nothing(
    folder: Path, tmp_path: Path, bundle: Path, options: list[str], tenth: int
) -> None:
    killer = Killer(tmp_path / "killer", writes=str(folder))
    command = [PACK, bundle, "-o", folder / "out.netcost.tar.gz", *options]
    environment = {"TMPDIR": str(folder / "tmp")}
    before = within(folder, bundle)

    def ends(kill: Kill | None) -> None:
        assert none_runs(folder, 10) == [], kill
        # Whole, or not there; and so the map and the list of what was masked.
        written = sorted(folder.glob("out*"))
        if written:
            archive = ["tar", "-tzf", folder / "out.netcost.tar.gz"]
            subprocess.run(archive, check=True, capture_output=True)
        for path in written:
            path.unlink()
        assert differences(before, within(folder, bundle)) == [], kill

    kills = killer.kills(command, tenth, env=environment, cwd=folder)
    ends(None)
    for kill in kills:
        killer.run(command, kill, env=environment, cwd=folder)
        ends(kill)
        again = ended(command, env={**os.environ, **environment})
        assert again.returncode == 0, (kill, again.stderr)
        ends(kill)
