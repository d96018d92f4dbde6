# netcost-record where names, paths and the locale are what a shell script gets wrong: it works, or
# says so in one line, and what lies beside is as it was.

import subprocess
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.host import missing, require_tool
from support.kit.awk import decimal_comma
from support.kit.pack import snapshot
from support.kit.record import (
    MARK,
    SHORT,
    Recorder,
    manifest_of,
    path_without,
    stub,
)

pytestmark = pytest.mark.live

NAMES = (
    *("acme prod", "  two  blanks ", "it's", 'q"uote', "gl*b", "[ab]?", "-dash", "--", "-rf acme"),
    *("$(touch pwned)", "`touch pwned`", "${HOME}", "semi; touch pwned &", "back\\slash", "é"),
    *("%s", "tab\there", "~", "#hash", "a=b", "!"),
)


def populate(folder: Path) -> None:
    """Siblings that have the pieces of the names for names."""
    for name in ("acme", "prod", "glob", "a", "b", "rf", "dash", "two", "x.lock", "b.partial"):
        (folder / name).mkdir(parents=True)
        (folder / name / "precious").write_text(name)


@pytest.mark.parametrize("first", range(0, len(NAMES), 4))
def test_any_name_is_a_name(first: int, tmp_path: Path, recorder: Recorder) -> None:
    # Four at once: the folder it runs in, TMPDIR, the bundle, and a file of the victim's.
    around, scratch_name, name, file = (NAMES[(first + i) % len(NAMES)] for i in range(4))
    work, scratch = tmp_path / around, Path(recorder.environment["TMPDIR"]) / scratch_name
    work.mkdir()
    scratch.mkdir()
    populate(work)
    populate(scratch)
    program = work / "program"
    program.write_text('#!/bin/sh\necho ran\n: >"$NETCOST_FILES/$1"\nsleep 0.2\n')
    program.chmod(0o755)
    before = snapshot(work), snapshot(scratch)
    victim = f'exec ./program "{MARK}$NAME"'
    env = {"TMPDIR": str(scratch), "NAME": file}
    recorder(*SHORT, "--victim", victim, name=name, env=env, cwd=work)
    bundle = work / name
    assert (bundle / "victim.txt").read_text() == "ran\n"
    assert [path.name for path in (bundle / "files").iterdir()] == [f"{MARK}{file}"]
    assert open_capture(bundle).event_count > 0
    assert manifest_of(bundle)["victim"]["command"] == victim
    after = snapshot(work), snapshot(scratch)
    ours = {path for path in after[0] if path == name or path.startswith(f"{name}/")}
    assert {path: it for path, it in after[0].items() if path not in ours} == before[0]
    assert after[1] == before[1]
    subprocess.run(["rm", "-r", "--", scratch], check=True)


def test_a_line_break_around_it_is_one_line(tmp_path: Path, recorder: Recorder) -> None:
    odd = tmp_path / "line\nbreak"
    odd.mkdir()
    done = recorder(*SHORT, status=2, lines=1, cwd=odd)
    assert "line break" in done.stderr
    assert list(odd.iterdir()) == []


# Of the awks mawk heeds the locale; that the others do not is the slow lane's.
@pytest.mark.parametrize(
    "awk", ["mawk", *(pytest.param(one, marks=pytest.mark.slow) for one in ("gawk", "busybox awk"))]
)
def test_a_decimal_comma_stays_with_the_victim(
    awk: str, tmp_path: Path, recorder: Recorder
) -> None:
    require_tool(awk.split()[0])
    path = stub(tmp_path / "bin", "awk", f'exec {awk} "$@"')
    victim = "/usr/bin/printf '%.1f\\n' 1,5; i=0; while [ $i -lt 90000 ]; do i=$((i+1)); done"
    recorder(
        *SHORT, "--baseline", "--victim", victim, path=path, env=decimal_comma(tmp_path / "locales")
    )
    for folder in (tmp_path / "b", tmp_path / "b" / "baseline"):
        assert (folder / "victim.txt").read_text() == "1,5\n"
        assert manifest_of(folder)["victim"]["wall_s"] > 0
    assert open_capture(tmp_path / "b").info["notes"] is not None


def test_an_empty_folder_is_worked_in(tmp_path: Path, recorder: Recorder) -> None:
    # As a container's -v out:/out: it cannot be replaced, and lies on a disk of its own.
    folder = tmp_path / "out"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "out", folder]).returncode:
        missing("cannot mount a disk here")
    try:
        (folder / "lost+found").mkdir()
        inode = folder.stat().st_ino
        # Of the disk that is written, not of the one around it.
        done = recorder(*SHORT, "--duration", "0.3", name=folder, status=1)
        assert "256 MiB" in done.stderr
        assert [path.name for path in folder.iterdir()] == ["lost+found"]
        recorder(*SHORT, "--duration", "0.3", "--min-free", "1", name=folder)
        assert folder.stat().st_ino == inode
        assert open_capture(folder).event_count > 0
        assert not (folder / "netcost-record.partial").exists()
        assert not (folder / "reserved").exists()
    finally:
        subprocess.run(["umount", folder], check=True)
    assert not (tmp_path / "out.partial").exists()


def test_a_link_to_an_empty_folder_stays_a_link(tmp_path: Path, recorder: Recorder) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "nowhere").symlink_to("gone")
    victim = 'umask; cd / && echo "$LC_ALL" >"$NETCOST_FILES/mine"; sleep 0.1'
    umask = ("sh", "-c", 'umask 027; exec "$0" "$@"')
    recorder(*SHORT, "--victim", victim, name="link/", before=umask, cwd=tmp_path)
    assert (tmp_path / "link").is_symlink()
    assert manifest_of(tmp_path / "real")["tool"] == "tracefs"
    # The folder of files is a path from anywhere. What the victim makes is the victim's, and in a
    # folder that shows it to nobody.
    assert (tmp_path / "real" / "victim.txt").read_text() == "0027\n"
    assert (tmp_path / "real" / "files" / "mine").is_file()
    for path in (tmp_path / "real").rglob("*"):
        shown = path.stat().st_mode & 0o077
        assert shown == (0o040 if path.name == "mine" else 0), path
    done = recorder(*SHORT, name="nowhere", status=1, lines=1, cwd=tmp_path)
    assert "nowhere" in done.stderr


def test_what_is_recorded_is_kept(tmp_path: Path, recorder: Recorder) -> None:
    # Somebody else makes a folder of its name while it records.
    victim = f"sleep 0.3; mkdir '{tmp_path}/b'; echo mine >'{tmp_path}/b/file'"
    done = recorder(*SHORT, "--victim", victim, status=1)
    assert "b.partial" in done.stderr
    assert (tmp_path / "b" / "file").read_text() == "mine\n"
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["file"]
    assert open_capture(tmp_path / "b.partial").event_count > 0


def test_without_gzip_the_configuration_is_a_note(tmp_path: Path, recorder: Recorder) -> None:
    path = path_without(tmp_path / "bin", "gzip")
    done = recorder(*SHORT, "--duration", "0.3", path=path)
    assert "not found" not in done.stderr
    assert all(line.startswith("netcost-record: ") for line in done.stderr.splitlines())
