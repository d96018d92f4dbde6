# Functions of the lab by themselves: its positive controls, what they count, and which steps they
# refuse; what it reads of others' outputs, and how busy the machine was.

import subprocess
from pathlib import Path

import pytest

from support.host import ROOT
from support.kit.lab import LAB, lab


def softnet(counts: dict[int, tuple[int, int]], *, numbered: bool = True) -> str:
    """softnet_stat: of each CPU packets, and how often it was handed some."""
    lines = []
    for number, (packets, handed) in counts.items():
        columns = [packets, 0, 0, 0, 0, 0, 0, 0, 0, handed, 0]
        columns += [0, number] if numbered else []
        lines.append(" ".join(f"{one:08x}" for one in columns))
    return "\n".join(lines) + "\n"


def test_a_line_is_of_the_cpu_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text(softnet({0: (10, 0), 3: (255, 7)}))
    assert lab('softnet 1 "$1"', tmp_path / "stat") == "0 10\n3 255"
    assert lab('softnet 10 "$1"', tmp_path / "stat") == "0 0\n3 7"


# Before 5.10 lines are those of the online CPUs.
def test_lines_without_a_number_are_of_the_online_cpus(tmp_path: Path) -> None:
    online = tmp_path / "devices" / "system" / "cpu" / "online"
    online.parent.mkdir(parents=True)
    online.write_text("0,2-3\n")
    (tmp_path / "stat").write_text(softnet({0: (1, 0), 1: (2, 0), 2: (3, 0)}, numbered=False))
    assert lab('sysfs=$1; softnet 1 "$1/stat"', tmp_path) == "0 1\n2 2\n3 3"


@pytest.mark.parametrize(
    ("here", "elsewhere", "accepted"),
    [(1000, 0, True), (1000, 999, True), (1000, 1000, False), (99, 0, False), (0, 1000, False)],
)
def test_a_step_whose_packets_went_elsewhere_is_refused(
    here: int, elsewhere: int, accepted: bool, tmp_path: Path
) -> None:
    for when, grown in (("before", 0), ("after", 1)):
        (tmp_path / when).mkdir()
        counts = {0: (5 + grown * elsewhere, 3), 1: (0xFFFF + grown * here, 4 + grown)}
        (tmp_path / when / "net_softnet_stat").write_text(softnet(counts))
    script = 'workspace=$1; steered "$1" 1 && echo accepted; echo $control_here $control_handed'
    told = [*(["accepted"] if accepted else []), f"{here} 1"]
    assert lab(script, tmp_path).splitlines() == told


def test_the_filter_is_of_the_functions_that_free_packets(tmp_path: Path) -> None:
    symbols = tmp_path / "kallsyms"
    symbols.write_text(
        "ffffffff81000100 T skb_free_head\n"
        "ffffffff81000180 t skb_free_head.cold\n"
        "ffffffff81000000 T skb_release_data\n"
        "ffffffff81000000 T an_alias\n"
        "ffffffff81000080 T another\n"
        "ffffffff81000090 D skb_kfree_head\n"
    )
    assert lab('freeing_filter "$1"', symbols) == (
        "(call_site >= 0xffffffff81000000 && call_site < 0xffffffff81000080)"
        " || (call_site >= 0xffffffff81000100 && call_site < 0xffffffff81000180)"
    )
    symbols.write_text("0000000000000000 T skb_release_data\n0000000000000000 T another\n")
    assert lab('freeing_filter "$1"', symbols) == ""


# What local-regression reads of what its programs printed; it takes neither root nor the programs.


READ = """
    die() { echo "$*"; exit 1; }
    size=14
    . "$1/lib/local-programs.sh"
    read_throughput sockperf "$2"
    echo "$received $sent $client_percent $server_percent"
"""
PIDSTAT = """Linux 6.18.0 (vm) 11/29/26 _x86_64_ (2 CPU)

# Time UID PID %usr %system %guest %wait %CPU CPU cswch/s nvcswch/s Command
10:27:38 0 543 3.00 56.00 0.00 31.00 59.00 0 0.00 81003.00 sockperf
10:27:38 0 544 2.00 29.00 0.00 19.00 31.00 1 80997.00 0.00 sockperf
"""


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("sockperf: Total 42281 messages received and handled\n", ["4733176", "9466352"]),
        # The server counts the client's warm-up as well.
        ("sockperf: Total 84600 messages received and handled\n", ["9466352", "9466352"]),
        ("sockperf: Test end (interrupted by user)\n", None),
    ],
)
def test_sockperf_received_its_share_of_what_was_sent(
    printed: str, told: list[str] | None, tmp_path: Path
) -> None:
    client = (ROOT / "tests" / "parsers" / "outputs" / "sockperf-throughput.txt").read_text()
    (tmp_path / "sockperf.txt").write_text(client)
    (tmp_path / "server.txt").write_text(printed)
    done = subprocess.run(
        ["sh", "-uc", READ, "sh", LAB, tmp_path], capture_output=True, text=True, check=False
    )
    assert (done.stdout.split() if done.returncode == 0 else None) == told
    assert done.stderr == ""


# Both are called sockperf: the server says its tid. Of one that had ended there is no row.
@pytest.mark.parametrize(
    ("tid", "ended", "told"),
    [(544, None, ["59.00", "31.00"]), (543, None, ["31.00", "59.00"]), (544, " 543 ", [])],
)
def test_sockperf_has_its_cpu_time_of_pidstat(
    tid: int, ended: str | None, told: list[str], tmp_path: Path
) -> None:
    client = (ROOT / "tests" / "parsers" / "outputs" / "sockperf-throughput.txt").read_text()
    (tmp_path / "sockperf.txt").write_text(client)
    (tmp_path / "server.txt").write_text(
        f"sockperf: [tid {tid}] using recvfrom() to block on socket(s)\n"
        "sockperf: Total 42281 messages received and handled\n"
    )
    rows = [row for row in PIDSTAT.splitlines() if ended is None or ended not in row]
    (tmp_path / "pidstat.txt").write_text("\n".join(rows) + "\n")
    read = subprocess.check_output(["sh", "-uc", READ, "sh", LAB, tmp_path], text=True)
    assert read.split()[2:] == told


# How busy the machine was, as experiments note it: by the times of its programs.


CAPTURE = ROOT / "capture"


# Whose parent has ended is init's child when it ends, and so are an experiment's own.
def test_what_init_reaped_is_not_its_own(tmp_path: Path) -> None:
    script = f'. {CAPTURE}/lib/processes.sh; . {CAPTURE}/lab/lib/busy.sh; host_times "$1"'
    subprocess.run(["sh", "-c", script, "sh", tmp_path / "times"], check=True)
    rows = [line.split() for line in (tmp_path / "times").read_text().splitlines()]
    programs = {row[1].partition("-")[0]: row[2:] for row in rows if row[0] == "program"}
    assert programs["1"][1] == "0"
    assert len(programs) > 1
