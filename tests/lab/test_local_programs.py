# What local-regression reads of what its programs printed; it takes neither root nor the programs.

import subprocess
from pathlib import Path

import pytest

from support.host import ROOT
from support.kit.lab import LAB

READ = """
    die() { echo "$*"; exit 1; }
    size=14
    . "$1/lib/local-programs.sh"
    read_throughput sockperf "$2"
    echo "$received $sent"
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
