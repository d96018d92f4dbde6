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
from typing import Any

import pytest

import netcost_analysis
from netcost_analysis._native import Capture, CaptureError
from support.host import ROOT
from support.native_tables import Answer, rows
from support.perfdata import MACHINES, wrapped
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
    with pytest.raises(CaptureError, match="not a regular"):
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


# Captures that somebody packed before sending them: with records that perf packed inside, and on
# standard input. The rest: native/tests/formats/wrapped.rs.


def contents(path: Path) -> Any:
    answer = Answer(path)
    events = {name: rows(table) for name, table in Capture(str(path)).all_events().items()}
    return events, answer.tables, answer.sums, answer.scan["events"], answer.scan["records"]


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_of_any_machine_and_packed_twice(tmp_path: Path, kind: str) -> None:
    for machine in MACHINES.values():
        plain = story(machine=machine).write(tmp_path / "perf.data", "pipe", compressed=1)
        packed = tmp_path / "packed"
        packed.write_bytes(wrapped(plain.read_bytes(), kind))
        assert contents(packed) == contents(plain)


@pytest.mark.parametrize("kind", [None, "gzip", "zstd"])
def test_standard_input_is_read_like_a_file(tmp_path: Path, kind: str | None) -> None:
    code = (
        "from netcost_analysis._native import Capture; capture = Capture('-');"
        "print(capture.header()['wrapped'], capture.scan()['events']['napi:napi_poll'])"
    )
    whole = story().write(tmp_path / "perf.data", "pipe").read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=wrapped(whole, kind) if kind else whole,
        capture_output=True,
        cwd=ROOT,
    )
    assert done.stdout.decode().split() == [str(kind), "2"], done.stderr
