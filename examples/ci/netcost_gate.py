"""A fixture for pytest: two commands are recorded in turns, and their difference is judged.

As root, with `pytest -p netcost_gate` and its folder in PYTHONPATH. docs/ci.md explains it.
"""

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

RECORD = shlex.split(os.environ.get("NETCOST_RECORD", "netcost-record"))
NETCOST = shlex.split(os.environ.get("NETCOST", "netcost"))
BEYOND, CANNOT_TELL = 3, 4


@pytest.fixture
def netcost_gate(tmp_path: Path) -> Callable[..., None]:
    """Fails where the condition holds of the change from base to head, skips where nobody knows."""

    def gate(base: str, head: str, condition: str, record: str = "", compare: str = "") -> None:
        turns = str(tmp_path / "turns")
        options = shlex.split(record)
        subprocess.run([*RECORD, "-o", turns, *options, "--alternate", base, head], check=True)
        judge = [*NETCOST, "compare", turns, *shlex.split(compare), "--fail-if", condition]
        judged = subprocess.run(judge, stderr=subprocess.PIPE, text=True)
        if judged.returncode == CANNOT_TELL:
            pytest.skip(judged.stderr)
        if judged.returncode == BEYOND:
            pytest.fail(judged.stderr, pytrace=False)
        judged.check_returncode()

    return gate
