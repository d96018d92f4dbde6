# Unpacking a bundle that ends early: a full disk, a signal. Nothing stays.

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from netcost_analysis.capture import packed
from support import packed_bundles as p
from support.run_cli import Netcost


def written(folder: Path) -> Path:
    path = folder / "b.netcost.tar.zst"
    path.write_bytes(p.packed(p.tar(p.members(p.bundle_files(folder))), "zstd"))
    return path


def test_a_full_disk_leaves_nothing(
    tmp_path: Path, unpacking: Path, netcost: Netcost, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path)

    def full(*_: object) -> str:
        raise OSError(28, os.strerror(28), "there")

    monkeypatch.setattr(packed, "_write", full)
    run = netcost("info", str(path))
    assert (run.code, run.err) == (1, f"netcost: there: {os.strerror(28)}\n")
    assert list(unpacking.iterdir()) == []


# Unpacks, and then hangs as a slow disk does.
SLOW = """
import sys, time
from netcost_analysis.capture import packed
from netcost_analysis.cli import main as cli
write = packed._write
packed._write = lambda *given: (write(*given), time.sleep(60))
sys.argv = ["netcost", "info", sys.argv[1]]
cli.main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ended_while_it_unpacks_it_leaves_nothing(
    tmp_path: Path, unpacking: Path, number: signal.Signals
) -> None:
    path = written(tmp_path)
    environment = {**os.environ, "TMPDIR": str(unpacking)}
    running = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(path)],
        env=environment,
        stderr=subprocess.PIPE,
        # Under nohup, or in the background of a shell, it would be ignored, as it should be.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    while not list(unpacking.rglob("SHA256SUMS")):
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(number)
    _, said = running.communicate()
    assert running.returncode == 128 + number
    assert said == b""
    assert list(unpacking.iterdir()) == []
