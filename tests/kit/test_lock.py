# The kit's locks: one owner at a time, and nothing that another user has put in their place is
# followed, waited for or overwritten.

import os
import subprocess
from pathlib import Path

import pytest

from support.host import ROOT, missing

LOCK = ROOT / "capture" / "lib" / "lock.sh"
TAKE = f'. {LOCK}; typed=test; take_lock "$1" && echo won || echo "not: $lock_owner"'


def taken(lock: Path, more: str = "") -> str:
    done = subprocess.run(
        ["sh", "-c", f"{TAKE}; {more}", "sh", lock], capture_output=True, text=True, timeout=20
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_a_lock_is_made_and_removed(tmp_path: Path) -> None:
    said = taken(tmp_path / "a b.lock", 'ls -A "$1"; release_locks')
    assert said.split() == ["won", "owner"]
    assert list(tmp_path.iterdir()) == []


def test_of_many_that_take_a_dead_owners_one_has_it(tmp_path: Path) -> None:
    for turn in range(3):
        lock = tmp_path / f"{turn}.lock"
        lock.mkdir()
        (lock / "owner").write_text("99999999\t5\tx\ty\tz\n")
        # It is held until all have asked.
        script = f"{TAKE}; read -r _; release_locks"
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        command = ["sh", "-c", script, "sh", str(lock)]
        processes = [subprocess.Popen(command, **pipes) for _ in range(8)]
        said = [process.stdout.readline().strip() for process in processes]
        assert said.count("won") == 1, said
        for process in processes:
            process.communicate()
        assert not lock.exists()


@pytest.mark.parametrize("made", ["folder", "fifo", "link", "owner-link", "owner-fifo"])
def test_what_another_user_put_there_is_refused(made: str, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        missing("needs root: another user's folder has to be made")
    precious, lock = tmp_path / "precious", tmp_path / "x.lock"
    precious.write_text("mine")
    (tmp_path / "elsewhere").mkdir()
    match made:
        case "link":
            lock.symlink_to(tmp_path / "elsewhere")
        case "fifo":
            os.mkfifo(lock)
        case _:
            lock.mkdir()
    match made:
        case "owner-link":
            (lock / "owner").symlink_to(precious)
        case "owner-fifo":
            os.mkfifo(lock / "owner")
    os.chown(lock, 65534, 65534, follow_symlinks=False)
    assert taken(lock).startswith("not: ")
    assert precious.read_text() == "mine"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_link_for_an_owner_is_not_followed(tmp_path: Path) -> None:
    precious, lock = tmp_path / "precious", tmp_path / "x.lock"
    precious.write_text("mine")
    lock.mkdir()
    (lock / "owner").symlink_to(precious)
    taken(lock, "release_locks")
    assert precious.read_text() == "mine"


# A signal is taken between any two commands of take_lock.
@pytest.mark.parametrize("command", ["mkdir", "id", "ln", "rm"])
def test_a_lock_that_was_being_taken_is_released(command: str, tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    script = f""". {LOCK}; typed=test
trap "trap '' TERM; release_locks; exit 9" TERM
{command}() {{ command {command} "$@"; kill -TERM $$; }}
take_lock "$1"
echo went on"""
    done = subprocess.run(["sh", "-c", script, "sh", lock], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (9, "", "")
    assert list(tmp_path.iterdir()) == []


def test_only_the_lock_of_who_was_killed_is_cleared(tmp_path: Path) -> None:
    dead, held = tmp_path / "dead", tmp_path / "held"
    for lock in (dead, held):
        lock.mkdir()
        (lock / "owner.99999999-5").write_text("draft")
    (dead / "owner").write_text("99999999\t5\tx\ty\tz\n")
    began = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()[19]
    (held / "owner").write_text(f"{os.getpid()}\t{began}\tx\ty\tz\n")
    script = f'. {LOCK}; for lock; do clear_dead_lock "$lock"; done'
    subprocess.run(["sh", "-uc", script, "sh", dead, held, tmp_path / "none"], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["held"]
    assert (held / "owner").exists()
