# net.core.skb_defer_max on this host: what is freed where, and that a count which is stuck is made
# to begin anew, whatever ended the experiment that had stuck it.

import csv
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.host import missing, require_tool
from support.kit.lab import DEFER, LAB, lab
from support.kit.record import ended

pytestmark = [pytest.mark.live, pytest.mark.alone]

COUNT = """
    workspace=$1 mark=''
    trickle_deferral 0 1 || { echo "$watch_frees_reason"; exit 1; }
    echo "$freed_by_reader $freed_by_allocator"
"""


@pytest.fixture
def limit() -> Iterator[str]:
    """The host's, which defers as it says before and after."""
    for tool in ("iperf3", "pidstat", "ip", "unshare"):
        require_tool(tool)
    if os.geteuid() != 0 or not os.access(DEFER, os.W_OK) or (os.cpu_count() or 0) < 2:
        missing("needs root, two CPUs and net.core.skb_defer_max")
    before = DEFER.read_text().strip()
    if int(before) <= 1:
        missing("needs a host that defers frees")
    yield before
    ended([LAB / "restore"])
    assert DEFER.read_text().strip() == before


def frees(folder: Path) -> tuple[int, int]:
    reader, allocator = map(int, lab(COUNT, folder).split())
    return reader, allocator


def is_deferred(folder: Path) -> bool:
    reader, allocator = frees(folder)
    assert reader + allocator >= 200
    return allocator > 4 * reader


def test_a_step_shows_what_is_deferred(limit: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["--networks", "loopback", "--protocols", "udp", "--steerings", "off,on", "--cpus"]
    command = [LAB / "local-regression", "-o", out, *words, "two", "--repeats", "1", "--traced"]
    done = ended([*command, "0", "--defers", "0,64", "--seed", "1"])
    assert done.returncode == 0, done.stderr
    with (out / "steps.tsv").open() as table:
        rows = list(csv.DictReader(table, delimiter="\t"))
    assert len(rows) == 4
    for row in rows:
        reader, allocator, handed = (
            int(row[f"control_{name}"])
            for name in ("freed_by_reader", "freed_by_allocator", "handed")
        )
        more, less = (allocator, reader) if row["skb_defer_max"] == "64" else (reader, allocator)
        assert more > 4 * less
        assert more + less >= 200
        assert (handed >= 100) == (row["rps"] == "on")
    assert DEFER.read_text().strip() == limit
    assert is_deferred(tmp_path)


# On a kernel that is mended there is nothing to be stuck.
def test_what_a_killed_experiment_has_stuck_is_made_to_begin_anew(
    limit: str, tmp_path: Path
) -> None:
    script = f"""
        begin_state && set_sysctl {DEFER} 0
        workspace=$1
        trickle_deferral 0 1
        kill -KILL $$
    """
    with pytest.raises(subprocess.CalledProcessError):
        lab(script, tmp_path)
    assert DEFER.read_text().strip() == "0"
    done = ended([LAB / "restore"])
    assert done.returncode == 0, done.stderr
    assert DEFER.read_text().strip() == limit
    assert is_deferred(tmp_path)


def test_a_host_that_defers_nothing_stays_so(limit: str, tmp_path: Path) -> None:
    try:
        DEFER.write_text("0")
        lab(f"begin_state && set_sysctl {DEFER} 64; restore_sysctls; undo_state $state $mark")
        assert DEFER.read_text().strip() == "0"
        assert not is_deferred(tmp_path)
    finally:
        DEFER.write_text(limit)
        lab("restore_deferral")
    assert is_deferred(tmp_path)
