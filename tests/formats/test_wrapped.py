# Captures that somebody packed before sending them: with records that perf packed inside, and on
# standard input. The rest: native/tests/formats/wrapped.rs.

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis._native import Capture
from support.host import ROOT
from support.native_tables import Answer, rows
from support.perfdata import MACHINES, wrapped
from support.story import story


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
