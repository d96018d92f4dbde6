# On which CPUs netcost-record puts a victim and itself: none that is set aside, none of another
# cpuset.

import subprocess

import pytest

from support.host import ROOT

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
