# What the kit says of processes, by the kernel's /proc, and how it finds those of its own making.

import os
import subprocess
from collections.abc import Iterator

import pytest

from support.host import ROOT, missing, require_tool

CAPTURE = ROOT / "capture"
SOURCED = f". {CAPTURE}/lib/processes.sh; . {CAPTURE}/lib/marked.sh; . {CAPTURE}/lib/lock.sh;"


def said(script: str, *words: str) -> list[str]:
    done = subprocess.run(
        ["sh", "-c", SOURCED + script, "sh", *words], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.fixture
def started() -> Iterator[subprocess.Popen[bytes]]:
    """One whose mark says that it is of this process, with a child in a session of its own."""
    [began] = said('began_at "$1"', str(os.getpid()))
    environment = {**os.environ, "NETCOST_RUN": f"{os.getpid()}-{began}"}
    script = "setsid sleep 60 & echo $!; exec sleep 60"
    with subprocess.Popen(["sh", "-c", script], env=environment, stdout=subprocess.PIPE) as one:
        yield one
        said('marked "$1" | signal_all KILL', f"NETCOST_RUN={environment['NETCOST_RUN']}")


def test_what_left_the_session_is_found_by_its_mark(started: subprocess.Popen[bytes]) -> None:
    assert started.stdout is not None
    child = int(started.stdout.readline())
    [began] = said('began_at "$1"', str(os.getpid()))
    mark = f"NETCOST_RUN={os.getpid()}-{began}"
    assert {*map(int, said('marked "$1"', mark))} == {started.pid, child}
    assert said('marked_roots "$1"', mark) == [str(started.pid)]


# Their environments are other people's, and reading one can block.
def test_what_is_older_than_the_recorder_is_not_looked_at() -> None:
    later = "1-99999999999999"
    environment = {**os.environ, "NETCOST_RUN": later}
    with subprocess.Popen(["sleep", "60"], env=environment) as older:
        assert said('marked "$1"', f"NETCOST_RUN={later}") == []
        older.kill()


# A stack of 512 KiB leaves a command 128 KiB for its words; 8 MiB, which is usual, 2 MiB.
@pytest.mark.live
def test_a_process_is_found_among_as_many_as_no_command_takes() -> None:
    if os.geteuid() != 0:
        missing("needs root: it mounts a /proc of its own")
    unshare = require_tool("unshare")
    many = 20_000
    script = f"""
        mount -t tmpfs tmpfs /proc
        mkdir /proc/self "/proc/$$"
        awk 'BEGIN {{ for (i = 1; i <= {many}; i++) print "/proc/" 1000000 + i }}' | xargs mkdir
        awk 'BEGIN {{ for (i = 1; i <= {many}; i++) {{
            print 1000000 + i, "(it) S 1 7 7" >"/proc/" 1000000 + i "/stat"
            close("/proc/" 1000000 + i "/stat")
        }} }}'
        ulimit -s 512
        echo "$$ (sh) S 1 $1 $1 0" >"/proc/$$/stat"
        all_stats | wc -l
        group_runs "$1" && echo runs
    """
    group = os.getpgid(0)
    command = [unshare, "--mount", "sh", "-c", f"{SOURCED} {script}", "sh", str(group)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(many + 1), "runs"], done.stderr
