# How the suite itself is run: what records this host apart, and nothing disturbs others beside it.

import subprocess
from pathlib import Path

import pytest

from support.host import ROOT

NOT_MARKED = pytest.raises(pytest.fail.Exception, match=r"mark it (live|alone)")


@pytest.mark.parametrize(
    "command",
    [
        ["/usr/bin/perf", "record", "true"],
        ["unshare", "--mount", "trace-cmd", "record", "true"],
        ["ip", "netns", "add", "name"],
        [ROOT / "capture" / "netcost-record", "--check"],
        ["sh", str(ROOT / "capture" / "lab" / "stolen-time")],
    ],
)
def test_what_changes_this_host_is_refused_to_tests_that_do_not_say_so(command: list[str]) -> None:
    with NOT_MARKED:
        subprocess.run(command, check=True)


def test_so_are_the_kernels_controls() -> None:
    with NOT_MARKED:
        Path("/sys/kernel/tracing/tracing_on").write_text("1")


# Of pytest's exit statuses, 5 says that nothing was selected.
@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        *(((0, 0), 0), ((0, 5), 0), ((5, 0), 0), ((5, 5), 5)),
        *(((1, 0), 1), ((0, 1), 1), ((5, 1), 1), ((1, 5), 1), ((2, 0), 2)),
    ],
)
def test_both_parts_run_and_either_may_fail(
    tmp_path: Path, parts: tuple[int, int], whole: int
) -> None:
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\nprintf "%s;" "$@" >>"{tmp_path}/ran"; echo >>"{tmp_path}/ran"\n'
        f'case "$*" in *"not alone"*) exit {parts[0]} ;; esac\n'
        f"exit {parts[1]}\n"
    )
    python.chmod(0o755)
    done = subprocess.run([ROOT / ".ci" / "pytest-live", python, "not slow", "-k", "a or b"])
    assert done.returncode == whole
    beside, apart = (tmp_path / "ran").read_text().splitlines()
    marks = [f"not slow and {which}" for which in ("live and not alone", "alone")]
    assert beside.split(";") == [
        *("-m", "pytest", "-m", marks[0], "-n", "2", "--dist", "loadfile", "-k", "a or b", "")
    ]
    assert apart.split(";") == ["-m", "pytest", "-m", marks[1], "-k", "a or b", ""]
