# What the children of netcost-record report to it, in an order of their own.

import subprocess
from pathlib import Path

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


def test_a_limit_that_had_passed_before_it_was_stopped_is_no_other_ones(tmp_path: Path) -> None:
    assert reports(tmp_path, "limit 1", "victim ended 0", waits=1) == ["victim ended 0"]


def test_the_limit_that_runs_is_reported(tmp_path: Path) -> None:
    assert reports(tmp_path, "limit 1", "limit 2", waits=1) == ["limit"]


def test_a_limit_that_was_stopped_is_not_reported_again(tmp_path: Path) -> None:
    said = ["limit 2", "limit 2", "recorder1 started"]
    assert reports(tmp_path, *said, waits=2) == ["limit", "recorder1 started"]
