# netcost-record --user: what is not the kit's own runs as somebody who may do less.

import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.host import require_tool
from support.kit.record import SHORT, Recorder, manifest_of, recorder_in

pytestmark = pytest.mark.live

SAYS = "echo $(id -u) $(id -g) $HOME $USER; cat /etc/shadow >/dev/null || echo refused"


# In a folder that others get into, as they do not into the tests' own.
@pytest.fixture
def recorder() -> Iterator[Recorder]:
    require_tool("setpriv")
    with TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with recorder_in(folder) as recorder:
            yield recorder


def test_victim_and_load_are_not_roots(recorder: Recorder) -> None:
    victim = f'{{ {SAYS}; }} 2>/dev/null >"$NETCOST_FILES/victim"'
    load = f'{{ {SAYS}; }} 2>/dev/null >"$NETCOST_FILES/load"; sleep 5'
    commands = ("--load", load, "--victim", victim)
    recorder(*SHORT, "--user", "nobody", *commands, "--duration", "5")
    bundle = recorder.folder / "b"
    for name in ("victim", "load"):
        uid, gid, _, user, refused = (bundle / "files" / name).read_text().split()
        assert (user, refused) == ("nobody", "refused")
        assert os.geteuid() not in (int(uid), int(gid))
    # The rest of the bundle is not theirs.
    assert (bundle / "manifest.json").stat().st_uid == os.geteuid()
    assert bundle.stat().st_mode & 0o777 == 0o700


# Of a service that runs, of a condition, and of each of several repeats.
@pytest.mark.parametrize(
    "options",
    [
        ["--attach", "{pid}", "--duration", "0.5", "--work", "id -u >>{told}; echo 1"],
        ["--after", "0.1", "--until", "id -u >>{told}"],
        ["--repeat", "2", "--victim", "id -u >>{told}"],
    ],
    ids=["work", "until", "repeat"],
)
def test_nothing_of_the_users_is_roots(options: list[str], recorder: Recorder) -> None:
    told = recorder.folder / "told"
    told.touch()
    told.chmod(0o666)
    words = [one.format(pid=os.getpid(), told=told) for one in options]
    recorder(*SHORT, "--user", "nobody", *words)
    assert set(told.read_text().split()) == {str(pwd.getpwnam("nobody").pw_uid)}


def test_a_bundle_they_cannot_reach_is_said(recorder: Recorder, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    recorder(*SHORT, "--user", "nobody", "--victim", "true", name=tmp_path / "b")
    assert any("NETCOST_FILES" in note for note in manifest_of(tmp_path / "b")["notes"])


def test_somebody_who_is_not_there(recorder: Recorder) -> None:
    assert "no-such-user" in recorder("--user", "no-such-user", status=2, lines=1).stderr
