# What the lab removes and what it does not, by the shell functions themselves and by an experiment
# made for it: no recording, no packets.

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.host import ROOT, missing, require_tool
from support.kit.host_snapshot import differences, snapshot
from support.kit.lab import LAB
from support.kit.moments import none_runs
from support.kit.record import ended, started

pytestmark = pytest.mark.alone

# Does what $TRIAL says, as an experiment that has a series begun.
TRIAL = r"""#!/bin/sh
set -u
experiment=trial
output='' tool='' victim_cpu=1 load_cpu=0
takes_value='rates' takes_none=''
. "$(dirname -- "$(readlink -f -- "$0")")/lib/lab.sh"
. "$lab/lib/networks.sh"
. "$lab/lib/series.sh"
take_options "$@"
new_folder
make_workspace
begin_series bundle
eval "$TRIAL"
end_series
"""


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    if os.geteuid() != 0:
        missing("needs root, as the lab does")
    require_tool("ip")
    shutil.copytree(ROOT / "capture", tmp_path / "kit")
    (tmp_path / "kit/lab/trial").write_text(TRIAL)
    (tmp_path / "kit/lab/trial").chmod(0o755)
    (tmp_path / "run" / "tmp").mkdir(parents=True)
    return tmp_path / "kit/lab/trial"


def trial(kit: Path, script: str, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    folder = kit.parent.parent.parent / "run"
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), "TRIAL": script, **more}
    return ended([kit, *words], env=environment, cwd=folder)


@pytest.fixture
def folder(kit: Path) -> Iterator[Path]:
    yield kit.parent.parent.parent / "run"
    assert not list(Path("/run/netns").glob(f"netcost-lab-{os.getpid()}-*"))


NAMES = ["a b", "it's", "*", "[a]", "-dash", "$(touch x)", "a;b", 'quo"te', "back\\slash", "ünï"]


@pytest.mark.parametrize(("name", "status"), [(name, at % 2) for at, name in enumerate(NAMES)])
def test_any_name_of_a_folder_works(kit: Path, folder: Path, name: str, status: int) -> None:
    # What another meaning of the name would take with it.
    for other in ("a", "b", "dash", "it", "slash", "te"):
        (folder / other).mkdir()
        (folder / other / "file").touch()
    (folder / "t" / name).mkdir(parents=True)
    before = snapshot(folder)
    done = trial(
        kit, f"add_namespace one; part x; echo >$output/x; exit_with={status};"
        "[ $exit_with = 0 ] || die told", "-o", name, TMPDIR=str(folder / "t" / name),
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    if status == 0:
        written = folder / name
        assert {path.name for path in written.iterdir()} == {"experiment.json", "steps.tsv", "x"}
        command = json.loads((written / "experiment.json").read_text())["command"]
        again = subprocess.run(
            ["sh", "-c", f"set -- {command}; printf %s \"$3\""], capture_output=True, text=True
        ).stdout  # fmt: skip
        # JSON has no bytes that are not ASCII as they were typed, but for \u.
        assert again == name
        shutil.rmtree(written)
    assert differences(before, snapshot(folder)) == []


@pytest.mark.parametrize(
    ("words", "temporary", "said"),
    [
        (["-o", "a\nb"], None, "-o takes"),
        (["-o", "x"], "t:t", "TMPDIR takes"),
    ],
)
def test_what_cannot_be_a_name_is_refused_in_one_line(
    kit: Path, folder: Path, words: list[str], temporary: str | None, said: str
) -> None:
    before = snapshot(folder)
    more = {"TMPDIR": temporary} if temporary else {}
    done = trial(kit, "", *words, **more)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr
    assert differences(before, snapshot(folder)) == []


def test_the_root_is_no_new_folder(kit: Path, folder: Path) -> None:
    done = trial(kit, "", "-o", "/")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)


def test_only_what_it_wrote_goes_when_it_fails(kit: Path, folder: Path) -> None:
    # A folder that was there and empty stays; folders that were made for it go.
    (folder / "there").mkdir(mode=0o750)
    before = snapshot(folder)
    fails = "part x; mkdir $output/x $output/x.partial; touch $output/x/y; die told"
    for name in ("there", "new/deep/er"):
        done = trial(kit, fails, "-o", name)
        assert done.returncode == 1
        assert differences(before, snapshot(folder)) == []
    # A user's own file, even under one of its names, in a folder that is not its any more.
    swapped = "rm -r $output; mkdir $output; echo mine >$output/steps.tsv; die told"
    trial(kit, swapped, "-o", "new")
    assert (folder / "new" / "steps.tsv").read_text() == "mine\n"
    done = trial(kit, "echo mine >$output/mine; die told", "-o", "there")
    assert [path.name for path in (folder / "there").iterdir()] == ["mine"]
    assert "there" in done.stderr


def test_what_is_anothers_stays(kit: Path, folder: Path) -> None:
    # A workspace with another's mark, and a bundle whose recorder still runs.
    runs = 'printf "%s\\t%s\\n" $PPID "$(began_at $PPID)" >$b.partial/owner'
    begun = "echo 1-1 >$workspace/mark; b=$output/b; made bundle $b; mkdir $b.partial"
    trial(kit, f"{begun}; {runs}; die told", "-o", "out")
    assert [path.name for path in (folder / "out").iterdir()] == ["b.partial"]
    assert len(list((folder / "tmp").iterdir())) == 1


def test_children_of_children_end_with_an_ordinary_end(kit: Path, folder: Path) -> None:
    # In sessions of their own, their parents gone, deaf to TERM.
    deaf = "trap '' TERM; setsid sh -c 'exec sleep 301' & wait"
    script = (
        "start_beside sh -c 'sleep 302 & setsid sleep 303 & exit 0'; "
        f"start_beside sh -c {json.dumps(deaf)}; job sh -c 'setsid sleep 304 & exit 0'; sleep 0.3"
    )
    begun = time.monotonic()
    done = trial(kit, script, "-o", "out")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begun < 25
    assert none_runs(folder, 0) == []


def test_nothing_runs_on_when_it_is_killed(kit: Path, folder: Path) -> None:
    before = snapshot(folder)
    deaf = "trap '' TERM; sleep 301 & setsid sleep 302 & wait; wait"
    script = f"add_namespace one; start_beside sh -c {json.dumps(deaf)}; job sleep 303"
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), "TRIAL": script}
    process = started([kit, "-o", folder / "out"], env=environment)
    deadline = time.monotonic() + 10
    while not all(f"sleep 30{n}" in " ".join(none_runs(folder, 0)) for n in (1, 2, 3)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert none_runs(folder, 10) == []
    assert [path.name for path in (folder / "out").glob("unf*")] == ["unfinished"]
    before_names = [
        path.name for path in Path("/run/netns").glob(f"netcost-lab-{process.pid}-*-one")
    ]
    done = ended([kit.parent / "restore"], env={**os.environ, "TMPDIR": str(folder / "tmp")})
    assert done.returncode == 0
    [name] = before_names
    temporary = folder / "tmp" / name.removesuffix("-one").replace("netcost-lab-", "netcost-lab.")
    [said] = done.stderr.splitlines()
    assert f"process {process.pid}" in said
    assert said.endswith(f": {name}, {folder / 'out'}, {temporary}")
    assert differences(before, snapshot(folder)) == []


def test_what_is_mounted_in_a_folder_is_not_emptied(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        missing("needs root to mount")
    other, folder = tmp_path / "other", tmp_path / "a b"
    other.mkdir()
    (other / "precious").touch()
    (folder / "in it").mkdir(parents=True)
    mounted = subprocess.run(["mount", "--bind", other, folder / "in it"], capture_output=True)
    if mounted.returncode != 0:
        missing("needs to mount")
    busy = subprocess.Popen(["sleep", "60"], cwd=folder / "in it")
    script = 'set -f; . "$1/undo.sh"; remove_tree "$2"'
    command = ["sh", "-c", script, "remove", LAB / "lib", folder]
    try:
        # Somebody works in it: it stays, and so does all else.
        assert ended(command).returncode == 1
        assert (folder / "in it" / "precious").exists()
    finally:
        busy.kill()
        busy.wait()
        done = ended(command)
        subprocess.run(["umount", folder / "in it"], capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert not folder.exists()
    assert (other / "precious").exists()
    # Nor is anything unmounted for a folder that is not there, or a link.
    (tmp_path / "link").symlink_to("/")
    mounts = Path("/proc/self/mounts").read_text()
    for name in ("nowhere", "link"):
        ended([*command[:-1], tmp_path / name])
    assert Path("/proc/self/mounts").read_text() == mounts


def test_the_guests_folder_is_only_replaced_if_it_is_ours(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "mine").touch()
    script = (
        'set -fu; die() { echo "$*"; exit 1; }; warn() { :; }; job() { return 1; }; typed=x; '
        'mirror=http://mirror.invalid work=$2; . "$1/lib/undo.sh"; . "$1/guest/image.sh"; make_root'
    )
    command = ["sh", "-c", script, "root", LAB, tmp_path]
    done = ended(command)
    assert done.returncode == 1
    assert "--work" in done.stdout
    assert (tmp_path / "root" / "mine").exists()
    (tmp_path / "root.made").touch()
    assert "debootstrap failed" in ended(command).stdout
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize("name", ["../../docs", "", "io-sizes hidden-cost", "*", "-rf", "lab"])
def test_a_sample_of_no_name_removes_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / "sample-data").mkdir()
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "sample-data" / "record", tmp_path / "sample-data")
    before = snapshot(tmp_path)
    done = ended([tmp_path / "sample-data" / "record", name])
    assert done.returncode == 1
    assert f"record: no sample {name}; there are: " in done.stderr
    assert differences(before, snapshot(tmp_path)) == []
