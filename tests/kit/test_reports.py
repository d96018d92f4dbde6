# What the children of netcost-record report to it, in an order of their own.

import subprocess
from pathlib import Path

import pytest

from support.host import ROOT

TASKS = ROOT / "capture" / "lib" / "tasks.sh"


def reports(folder: Path, *lines: str, waits: int) -> list[str]:
    """What next_report says, while the second limit runs at first and none after that."""
    script = f""". {TASKS}
die() {{ echo "$*"; exit 1; }}
mkfifo "$1" && exec 3<>"$1"
shift
printf '%s\\n' "$@" >&3
limits=2 limit_pid=4711
for _ in {" ".join("x" * waits)}; do next_report; echo "$report"; limit_pid=''; done"""
    command = ["sh", "-u", "-c", script, "sh", str(folder / "fifo"), *lines]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("lines", "reported"),
    [
        # One that had passed before it was stopped is no other one's.
        (["limit 1", "victim ended 0"], ["victim ended 0"]),
        (["limit 1", "limit 2"], ["limit"]),
        # Nor is it reported again.
        (["limit 2", "limit 2", "recorder1 started"], ["limit", "recorder1 started"]),
    ],
)
def test_the_limit_that_runs_is_reported(
    lines: list[str], reported: list[str], tmp_path: Path
) -> None:
    assert reports(tmp_path, *lines, waits=len(reported)) == reported
