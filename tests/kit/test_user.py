# netcost-record --user: what is not the kit's own runs as somebody who may do less.

import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.host import require_tool
from support.kit.record import RECORD, SHORT, ended, manifest_of, nothing_left, require_recorder

pytestmark = pytest.mark.live

SAYS = "echo $(id -u) $(id -g) $HOME $USER; cat /etc/shadow >/dev/null || echo refused"


@pytest.fixture
def temporary() -> Iterator[tuple[Path, dict[str, str]]]:
    """A folder that others get into, as they do not into the tests' own."""
    require_recorder("tracefs")
    require_tool("setpriv")
    with TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with nothing_left(folder, "tracefs") as environment:
            yield folder, environment


def test_victim_and_load_are_not_roots(temporary: tuple[Path, dict[str, str]]) -> None:
    folder, environment = temporary
    victim = f'{{ {SAYS}; }} 2>/dev/null >"$NETCOST_FILES/victim"'
    load = f'{{ {SAYS}; }} 2>/dev/null >"$NETCOST_FILES/load"; sleep 5'
    command = [RECORD, "-o", folder / "b", *SHORT, "--user", "nobody", "--load", load]
    done = ended([*command, "--victim", victim, "--duration", "5"], env=environment)
    assert done.returncode == 0, done.stderr
    for name in ("victim", "load"):
        uid, gid, _, user, refused = (folder / "b" / "files" / name).read_text().split()
        assert (user, refused) == ("nobody", "refused")
        assert os.geteuid() not in (int(uid), int(gid))
    # The rest of the bundle is not theirs.
    assert (folder / "b" / "manifest.json").stat().st_uid == os.geteuid()
    assert (folder / "b").stat().st_mode & 0o777 == 0o700


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
def test_nothing_of_the_users_is_roots(
    options: list[str], temporary: tuple[Path, dict[str, str]]
) -> None:
    folder, environment = temporary
    told = folder / "told"
    told.touch()
    told.chmod(0o666)
    words = [one.format(pid=os.getpid(), told=told) for one in options]
    command = [RECORD, "-o", folder / "b", *SHORT, "--user", "nobody", *words]
    done = ended(command, env=environment)
    assert done.returncode == 0, done.stderr
    assert set(told.read_text().split()) == {str(pwd.getpwnam("nobody").pw_uid)}


def test_a_bundle_they_cannot_reach_is_said(
    temporary: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    _, environment = temporary
    tmp_path.chmod(0o700)
    command = [RECORD, "-o", tmp_path / "b", *SHORT, "--user", "nobody", "--victim", "true"]
    done = ended(command, env=environment)
    assert done.returncode == 0, done.stderr
    assert any("NETCOST_FILES" in note for note in manifest_of(tmp_path / "b")["notes"])


def test_somebody_who_is_not_there(temporary: tuple[Path, dict[str, str]]) -> None:
    folder, environment = temporary
    done = ended([RECORD, "-o", folder / "b", "--user", "no-such-user"], env=environment)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "no-such-user" in done.stderr
