# netcost-record where names, paths and the locale are what a shell script gets wrong: it works, or
# says so in one line, and what lies beside is as it was.

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.host import missing, require_tool
from support.kit.record import (
    MARK,
    RECORD,
    SHORT,
    busybox_alone,
    ended,
    manifest_of,
    nothing_left,
    path_without,
    processes_with,
    require_recorder,
    stub,
)

pytestmark = pytest.mark.live

NAMES = (
    *("acme prod", "  two  blanks ", "it's", 'q"uote', "gl*b", "[ab]?", "-dash", "--", "-rf acme"),
    *(
        "$(touch pwned)",
        "`touch pwned`",
        "${HOME}",
        "semi; touch pwned &",
        "back\\slash",
        "é",
        "%s",
    ),
    *("tab\there", "~", "#hash", "a=b", "!"),
)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path) -> Iterator[dict[str, str]]:
    require_recorder("tracefs")
    with nothing_left(tmp_path) as environment:
        yield environment


def populate(folder: Path) -> None:
    """Siblings that have the pieces of the names for names."""
    for name in ("acme", "prod", "glob", "a", "b", "rf", "dash", "two", "x.lock", "b.partial"):
        (folder / name).mkdir(parents=True)
        (folder / name / "precious").write_text(name)


def tree(folder: Path) -> dict[str, tuple[int, str]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (
            path.lstat().st_mode,
            hashlib.sha256(data).hexdigest(),
        )
    return found


@pytest.mark.parametrize("first", range(0, len(NAMES), 4))
def test_any_name_is_a_name(first: int, tmp_path: Path, temporary: dict[str, str]) -> None:
    # Four at once: the folder it runs in, TMPDIR, the bundle, and a file of the victim's.
    around, scratch_name, name, file = (NAMES[(first + i) % len(NAMES)] for i in range(4))
    work, scratch = tmp_path / around, Path(temporary["TMPDIR"]) / scratch_name
    work.mkdir()
    scratch.mkdir()
    populate(work)
    populate(scratch)
    program = work / "program"
    program.write_text('#!/bin/sh\necho ran\n: >"$NETCOST_FILES/$1"\nsleep 0.2\n')
    program.chmod(0o755)
    before = tree(work), tree(scratch)
    victim = f'exec ./program "{MARK}$NAME"'
    done = ended(
        [RECORD, "-o", name, *SHORT, "--victim", victim],
        cwd=work,
        env={**temporary, "TMPDIR": str(scratch), "NAME": file},
    )
    assert done.returncode == 0, done.stderr
    bundle = work / name
    assert (bundle / "victim.txt").read_text() == "ran\n"
    assert [path.name for path in (bundle / "files").iterdir()] == [f"{MARK}{file}"]
    assert sum(open_capture(bundle).info["events"].values()) > 0
    assert manifest_of(bundle)["victim"]["command"] == victim
    after = tree(work), tree(scratch)
    ours = {path for path in after[0] if path == name or path.startswith(f"{name}/")}
    assert {path: it for path, it in after[0].items() if path not in ours} == before[0]
    assert after[1] == before[1]
    subprocess.run(["rm", "-r", "--", scratch], check=True)


def test_a_line_break_around_it_is_one_line(tmp_path: Path, temporary: dict[str, str]) -> None:
    odd = tmp_path / "line\nbreak"
    odd.mkdir()
    done = ended([RECORD, "-o", "b", *SHORT], cwd=odd, env=temporary)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "line break" in done.stderr
    assert list(odd.iterdir()) == []


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A locale with a decimal comma."""
    folder = tmp_path_factory.mktemp("locale")
    command = [require_tool("localedef"), "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"]
    subprocess.run(command, capture_output=True)
    locale = {"LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8"}
    said = subprocess.run(
        ["/usr/bin/printf", "%.1f", "1,5"], env={**os.environ, **locale}, capture_output=True
    )
    if said.stdout != b"1,5":
        missing("the locale de_DE.UTF-8 cannot be made here: install locales")
    return locale


# Of the awks mawk heeds the locale; that the others do not is the slow lane's.
@pytest.mark.parametrize(
    "awk", ["mawk", *(pytest.param(one, marks=pytest.mark.slow) for one in ("gawk", "busybox awk"))]
)
def test_a_decimal_comma_stays_with_the_victim(
    awk: str, german: dict[str, str], tmp_path: Path, temporary: dict[str, str]
) -> None:
    require_tool(awk.split()[0])
    path = stub(tmp_path / "bin", "awk", f'exec {awk} "$@"')
    victim = "/usr/bin/printf '%.1f\\n' 1,5; i=0; while [ $i -lt 90000 ]; do i=$((i+1)); done"
    done = ended(
        [RECORD, "-o", tmp_path / "b", *SHORT, "--baseline", "--victim", victim],
        env={**temporary, **german, "PATH": path},
    )
    assert done.returncode == 0, done.stderr
    for folder in (tmp_path / "b", tmp_path / "b" / "baseline"):
        assert (folder / "victim.txt").read_text() == "1,5\n"
        assert json.loads((folder / "manifest.json").read_text())["victim"]["wall_s"] > 0
    assert open_capture(tmp_path / "b").info["notes"] is not None


def test_an_empty_folder_is_worked_in(tmp_path: Path, temporary: dict[str, str]) -> None:
    # As a container's -v out:/out: it cannot be replaced, and lies on a disk of its own.
    folder = tmp_path / "out"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "out", folder]).returncode:
        missing("cannot mount a disk here")
    try:
        (folder / "lost+found").mkdir()
        inode = folder.stat().st_ino
        done = ended([RECORD, "-o", folder, *SHORT, "--duration", "0.3"], env=temporary)
        # Of the disk that is written, not of the one around it.
        assert done.returncode == 1
        assert "256 MiB" in done.stderr
        assert [path.name for path in folder.iterdir()] == ["lost+found"]
        done = ended(
            [RECORD, "-o", folder, *SHORT, "--duration", "0.3", "--min-free", "1"], env=temporary
        )
        assert done.returncode == 0, done.stderr
        assert folder.stat().st_ino == inode
        assert sum(open_capture(folder).info["events"].values()) > 0
        assert not (folder / "netcost-record.partial").exists()
        assert not (folder / "reserved").exists()
    finally:
        subprocess.run(["umount", folder], check=True)
    assert not (tmp_path / "out.partial").exists()


def test_a_link_to_an_empty_folder_stays_a_link(tmp_path: Path, temporary: dict[str, str]) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "nowhere").symlink_to("gone")
    victim = 'umask; cd / && echo "$LC_ALL" >"$NETCOST_FILES/mine"; sleep 0.1'
    record = ["sh", "-c", 'umask 027; exec "$0" "$@"', RECORD, *SHORT]
    done = ended([*record, "-o", "link/", "--victim", victim], cwd=tmp_path, env=temporary)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "link").is_symlink()
    assert manifest_of(tmp_path / "real")["tool"] == "tracefs"
    # The folder of files is a path from anywhere. What the victim makes is the victim's, and in a
    # folder that shows it to nobody.
    assert (tmp_path / "real" / "victim.txt").read_text() == "0027\n"
    assert (tmp_path / "real" / "files" / "mine").is_file()
    for path in (tmp_path / "real").rglob("*"):
        shown = path.stat().st_mode & 0o077
        assert shown == (0o040 if path.name == "mine" else 0), path
    done = ended([RECORD, "-o", "nowhere", *SHORT], cwd=tmp_path, env=temporary)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "nowhere" in done.stderr


def test_what_is_recorded_is_kept(tmp_path: Path, temporary: dict[str, str]) -> None:
    # Somebody else makes a folder of its name while it records.
    victim = f"sleep 0.3; mkdir '{tmp_path}/b'; echo mine >'{tmp_path}/b/file'"
    done = ended([RECORD, "-o", tmp_path / "b", *SHORT, "--victim", victim], env=temporary)
    assert done.returncode == 1
    assert "b.partial" in done.stderr
    assert (tmp_path / "b" / "file").read_text() == "mine\n"
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["file"]
    assert sum(open_capture(tmp_path / "b.partial").info["events"].values()) > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--victim", "false"], "exit status 1"),
        (["--load", "exit 3"], "exit status 3"),
    ],
)
def test_messages_say_what_is_so(
    options: list[str], said: str, tmp_path: Path, temporary: dict[str, str]
) -> None:
    done = ended([RECORD, "-o", tmp_path / "b", *SHORT, *options], env=temporary)
    assert said in done.stderr.splitlines()[-1]
    assert "is there room" not in done.stderr


def test_without_gzip_the_configuration_is_a_note(
    tmp_path: Path, temporary: dict[str, str]
) -> None:
    path = path_without(tmp_path / "bin", "gzip")
    done = ended(
        [RECORD, "-o", tmp_path / "b", *SHORT, "--duration", "0.3"], env={**temporary, "PATH": path}
    )
    assert done.returncode == 0, done.stderr
    assert "not found" not in done.stderr
    assert all(line.startswith("netcost-record: ") for line in done.stderr.splitlines())


def test_busybox_alone_guards_too(tmp_path: Path, temporary: dict[str, str]) -> None:
    programs = busybox_alone(tmp_path)
    left = f"sleep 60 & setsid sleep 60 & : {MARK}; sleep 0.3"
    done = ended(
        [programs / "sh", RECORD, "-o", tmp_path / "b", *SHORT, "--victim", left],
        env={**temporary, "PATH": str(programs)},
    )
    assert done.returncode == 0, done.stderr
    assert processes_with(MARK) == []
    assert processes_with(str(tmp_path)) == []
