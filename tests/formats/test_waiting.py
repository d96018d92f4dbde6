# Whoever waits for input can be sent away: a FIFO nobody writes to, a writer that pauses, a silent
# standard input. And nobody waits for a FIFO that a stranger put into a bundle.

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import netcost_analysis
from netcost_analysis._native import Capture, CaptureError
from support.small_captures import small_captures
from support.story import story
from support.texts import EVENTS, lines
from support.tracedat import write_tracefs

INT, TERM = signal.SIGINT, signal.SIGTERM
# What handles signals is in place when this line is out; then it waits.
PROGRAM = """
import sys
from netcost_analysis.capture import bundle, recording
from netcost_analysis.cli import main as cli
known = bundle.bundle_at
def told(path):
    sys.stderr.write("begins\\n")
    return known(path)
bundle.bundle_at = told
recording.bundle_at = told
sys.argv[:1] = ["netcost", "info"]
cli.main()
"""


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "fifo")
    return tmp_path / "fifo"


@pytest.fixture
def paused(fifo: Path) -> Iterator[Path]:
    # Somebody has written half a text, and the other half never comes.
    keep = os.open(fifo, os.O_RDWR)
    os.write(keep, "\n".join(lines("ftrace")[:20]).encode())
    yield fifo
    os.close(keep)


def ended_by(number: signal.Signals, path: str, stdin: int) -> int:
    command = [sys.executable, "-c", PROGRAM, path]
    # A suite that runs in a shell's background ignores SIGINT, and what it starts would, too.
    running = subprocess.Popen(
        command,
        stdin=stdin,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert running.stderr is not None
    try:
        assert running.stderr.readline() == "begins\n"
        time.sleep(0.5)
        assert running.poll() is None
        running.send_signal(number)
        code = running.wait(timeout=30)
        assert "Traceback" not in running.stderr.read()
        return code
    finally:
        running.kill()
        running.wait()
        running.stderr.close()


@pytest.mark.parametrize(
    ("place", "number"),
    [("fifo", INT), ("paused", TERM), ("paused", INT), ("-", INT), ("/dev/stdin", TERM)],
)
def test_who_waits_can_be_sent_away(
    place: str, number: signal.Signals, request: pytest.FixtureRequest
) -> None:
    reading, writing = os.pipe()
    # A silent standard input, a FIFO that nobody writes to, a writer that pauses.
    path = request.getfixturevalue(place) if place.isalpha() else place
    try:
        assert ended_by(number, str(path), stdin=reading) == 128 + number
    finally:
        os.close(reading)
        os.close(writing)


# Who writes late, in pieces and slowly is waited for, whatever format it is.
@pytest.mark.parametrize("kind", ["text", "perf.data"])
def test_a_slow_writer_is_read_to_its_end(fifo: Path, kind: str) -> None:
    whole = "\n".join(lines("ftrace")).encode()
    if kind == "perf.data":
        [whole] = small_captures()["pipe"].files.values()

    def write() -> None:
        time.sleep(0.3)
        with fifo.open("wb", buffering=0) as out:
            for at in range(0, len(whole), len(whole) // 4):
                out.write(whole[at : at + len(whole) // 4])
                time.sleep(0.15)

    writer = threading.Thread(target=write)
    writer.start()
    scan = Capture(str(fifo)).scan()
    writer.join()
    if kind == "text":
        assert scan["records"]["event"] == EVENTS
    (fifo.parent / "file").write_bytes(whole)
    assert scan["events"] == Capture(str(fifo.parent / "file")).scan()["events"]


# The trace itself, a link to it, or a part of its folder.
@pytest.mark.parametrize("place", ["trace", "link", "part"])
def test_a_fifo_in_a_bundle_is_refused(tmp_path: Path, place: str) -> None:
    manifest = {"netcost_bundle": 1, "trace": "trace"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    if place == "part":
        (tmp_path / "trace").mkdir()
        (tmp_path / "trace" / "header_page").write_text("")
        (tmp_path / "trace" / "per_cpu").mkdir()
        os.mkfifo(tmp_path / "trace" / "uname")
    else:
        os.mkfifo(tmp_path / ("trace" if place == "trace" else "fifo"))
    if place == "link":
        (tmp_path / "trace").symlink_to("fifo")
    with pytest.raises(CaptureError, match="is no regular"):
        netcost_analysis.open_capture(tmp_path)


# Outside a bundle, a copy of tracefs with such a part is read without it.
def test_a_fifo_in_a_copy_of_tracefs_is_not_waited_for(tmp_path: Path) -> None:
    folder = write_tracefs(story(), tmp_path / "copy")
    for name in ("trace_clock", "uname", "saved_cmdlines"):
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
    # Nobody waits for ever in this process.
    program = (
        "import sys; from netcost_analysis._native import Capture; Capture(sys.argv[1]).scan()"
    )
    done = subprocess.run([sys.executable, "-c", program, folder], timeout=30, capture_output=True)
    assert done.returncode == 0, done.stderr
