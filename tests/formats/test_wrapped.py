# Captures that somebody packed before sending them: with records that perf packed inside, on
# standard input, or to fill the disk. The rest: native/tests/formats/wrapped.rs.

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis._native import Capture
from support.bounded import bounded
from support.host import ROOT
from support.long_story import story as long_story
from support.native_tables import Answer, rows
from support.perfdata import MACHINES, wrapped
from support.story import story

KINDS = pytest.mark.parametrize("kind", ["gzip", "zstd"])


def contents(path: Path) -> Any:
    answer = Answer(path)
    events = {name: rows(table) for name, table in Capture(str(path)).all_events().items()}
    return events, answer.tables, answer.sums, answer.scan["events"], answer.scan["records"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = long_story().write(tmp_path_factory.mktemp("whole") / "perf.data", "pipe")
    return path.read_bytes()


def test_of_any_machine_and_packed_twice(tmp_path: Path) -> None:
    for kind in ("gzip", "zstd"):
        for machine in MACHINES.values():
            plain = story(machine=machine).write(tmp_path / "perf.data", "pipe", compressed=1)
            packed = tmp_path / "packed"
            packed.write_bytes(wrapped(plain.read_bytes(), kind))
            assert contents(packed) == contents(plain)


@KINDS
def test_standard_input_may_be_wrapped(tmp_path: Path, whole: bytes, kind: str) -> None:
    code = (
        "from netcost_analysis._native import Capture; capture = Capture('-');"
        "print(capture.header()['wrapped'], capture.scan()['events']['napi:napi_poll'])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, input=wrapped(whole, kind), capture_output=True, cwd=ROOT)
    assert done.stdout.decode().split() == [kind, "400"], done.stderr


# A hundred kilobytes that unpack to gigabytes: neither memory nor disk are filled with them.
@KINDS
def test_a_bomb_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bomb"
    # Many members say the same as one long stream, and are sooner packed.
    path.write_bytes(wrapped(bytes(1 << 20), kind) * 1024)
    assert path.stat().st_size < 2 << 20
    assert "CaptureError" in bounded(path, "capture().scan()", megabytes=256)
