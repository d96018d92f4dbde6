# Whatever ends a script of the kit, and whenever, its function end is run, once.

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.host import ROOT

# Debian's sh is dash.
FOUND = [["sh"], ["bash", "--posix"], ["busybox", "sh"]]
SHELLS = [one for one in FOUND if shutil.which(one[0])]


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize(
    ("leaves", "status"),
    [
        ("exit 5", 5),
        ("kill -TERM $$", 143),
        ("kill -HUP $$; sleep 0.1", 129),
        ("", 0),
    ],
)
def test_whatever_ends_a_script_runs_its_end_once(
    shell: list[str], leaves: str, status: int
) -> None:
    script = f"""end() {{
    begin_end "$1"
    kill -TERM $$
    # What is said is heard, whatever was redirected where the signal came.
    echo "ended $end_status" >&2
    exit "$end_status"
}}
. {ROOT}/capture/lib/ending.sh
{leaves}"""
    done = subprocess.run([*shell, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == (f"ended {status}\n", status)


# A victim that is ended before its shell takes TERM up dies of it, and that is no word to the user.
@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_guard_says_nothing_of_how_its_command_died(shell: list[str], tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    writer = os.open(alive, os.O_RDWR)
    command = [*shell, ROOT / "capture" / "lib" / "guard.sh", alive, ""]
    dies = ["sh", "-c", "echo its own word >&2; kill -TERM $$"]
    done = subprocess.run([*command, *dies], stderr=subprocess.PIPE, start_new_session=True)
    os.close(writer)
    assert done.stderr == b"its own word\n"
