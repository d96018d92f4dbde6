# The shell functions of capture/lib by themselves. First: whatever ends a script of the kit, and
# whenever, its function end is run, once.

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.host import ROOT, missing, require_tool

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


# What the children of netcost-record report to it, in an order of their own.


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


# On which CPUs netcost-record puts a victim and itself: none that is set aside, none of another
# cpuset.


LIBRARY = ROOT / "capture" / "lib"
# A host of four CPUs, told by the files and the program that are asked.
SCRIPT = f"""
    newline='
'
    bad_usage() {{ echo "refused: $*"; exit; }}
    . {LIBRARY}/host.sh; . {LIBRARY}/options.sh
    first_line() {{
        case $1 in
        */online) echo 0-3 ;;
        */isolated) echo "$isolated" ;;
        */nohz_full) echo "$nohz_full" ;;
        esac
    }}
    taskset() {{ echo "$allowed"; }}
    isolated=$1 nohz_full=$2 allowed=$3 victim=$4 victim_cpu=$5 cpus=$6 recorder_cpus=''
    check_cpus
    echo "$victim_cpu $recorder_cpus"
"""


@pytest.mark.parametrize(
    ("isolated", "nohz_full", "allowed", "victim", "victim_cpu", "cpus", "placed"),
    [
        # Nothing is set aside: the victim on the last, the recorder beside it, or where it is.
        ("", "", "0-3", "true", "", "", "3 0,1,2"),
        ("", "(null)", "0-3", "", "", "", " "),
        ("3", "", "0-3", "true", "", "", "2 0,1"),
        ("", "2-3", "0-3", "true", "", "", "1 0"),
        ("2", "3", "0-3", "", "", "", " 0,1"),
        # Who names one means it.
        ("3", "", "0-3", "true", "3", "", "3 0,1,2"),
        # Where all that is recorded is set aside, that is where it is to run.
        ("2-3", "", "0-3", "true", "", "2-3", "3 0,1"),
        ("1-3", "", "0-3", "true", "", "0", "0 "),
        # Others' CPUs are theirs.
        ("", "", "0-1", "true", "", "", "1 0"),
        ("", "", "0-1", "true", "3", "", "refused"),
        ("", "", "3", "true", "", "", "3 "),
    ],
)
def test_cpus_that_are_set_aside_are_left_alone(
    isolated: str,
    nohz_full: str,
    allowed: str,
    victim: str,
    victim_cpu: str,
    cpus: str,
    placed: str,
) -> None:
    words = [isolated, nohz_full, allowed, victim, victim_cpu, cpus]
    command = ["sh", "-c", SCRIPT, "sh", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.partition(":")[0].rstrip("\n") == placed


# What the kit says of processes, by the kernel's /proc, and how it finds those of its own making.


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


# What a short trial cannot rule out, of the counter that leaves most open.
@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("softirq", "NET_RX", 0, 40, 0)], ""),
        (
            [("softirq", "NET_RX", 0, 40, 2), ("switches", "ctxt", None, 1_000, 7)],
            "0.7 % of switches",
        ),
        ([("irq", "36", 1, 50, 1)], "2.0 % of interrupt 36 on CPU 1"),
        # No proof by themselves.
        ([("packets", "packets", 1, 50, 9)], ""),
    ],
)
def test_what_a_complete_trial_may_have_missed(
    shell: list[str], rows: list[tuple[str, str, int | None, int, int]], said: str, tmp_path: Path
) -> None:
    (tmp_path / "trial").mkdir()
    names = ("what", "name", "cpu", "counted", "missing_most")
    lines = ",\n".join(f"      {json.dumps(dict(zip(names, row, strict=True)))}" for row in rows)
    (tmp_path / "trial" / "manifest.json").write_text(f'{{"rows": [\n{lines}]}}\n')
    script = f". {CAPTURE}/lib/trial.sh; workspace={tmp_path}; trial_may_miss"
    done = subprocess.run([*shell, "-c", script], capture_output=True, text=True, check=True)
    assert (done.stderr, bool(done.stdout)) == ("", bool(said))
    assert said in done.stdout


# Small figures are no 0.
@pytest.mark.parametrize(("rate", "share"), [(0, "0.0"), (2_212, "under 0.1"), (32_000, "0.7")])
def test_a_small_cost_is_none_that_is_nothing(rate: int, share: str, tmp_path: Path) -> None:
    script = f""". {CAPTURE}/lib/preflight.sh
event_profiles=stolen candidates=tracefs expected_rate={rate} workspace={tmp_path}
preflight_cost; cat "$workspace/preflight"; milliseconds_said 16"""
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert f" are {share} % of" in done.stdout
    assert done.stdout.endswith("16 ms\n")
