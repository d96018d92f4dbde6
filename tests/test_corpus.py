# Captures that strangers recorded: any file gives tables or one clear error.

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, require_shared
from native_tables import ALL_TABLES, Answer, assert_conserved

from netcost_analysis._native import Capture, CaptureError


def manifest() -> list[dict[str, Any]]:
    path = SHARED / "corpus" / "manifest.json"
    if not path.is_file():
        return []
    return [one for one in json.loads(path.read_text()) if one["kind"] == "perf"]


# With the folder absent there is one test left, which skips and says why.
CASES = manifest() or [{"file": None}]
# Whole 64-bit little-endian files that perf itself reads; version 1 of the format ended with
# perf 2.6.33.
CONSISTENT = [
    one
    for one in CASES
    if one.get("endian") == "little"
    and one["oracle_exit"] == 0
    and not one["truncated"]
    and "v1 magic" not in one["notes"]
] or [{"file": None}]


def name(one: dict[str, Any]) -> str:
    return str(one["file"])


def path_of(one: dict[str, Any]) -> str:
    return (
        str(require_shared("corpus") / one["file"])
        if one["file"]
        else str(require_shared("corpus"))
    )


def one_line(error: CaptureError) -> bool:
    return bool(str(error)) and "\n" not in str(error)


@pytest.mark.parametrize("one", CASES, ids=name)
def test_any_file_gives_tables_or_one_error(one: dict[str, Any]) -> None:
    path = path_of(one)
    try:
        capture = Capture(path)
        capture.header()
        capture.scan()
        capture.all_events()
        answer = Answer(Path(path), ALL_TABLES)
    except CaptureError as error:
        # Not pytest.raises: whether there is an error is the file's business.
        if not one_line(error):
            raise
        return
    assert_conserved(answer)


@pytest.mark.parametrize("one", CONSISTENT, ids=name)
def test_sample_counts_of_consistent_files_are_perfs(one: dict[str, Any]) -> None:
    scan = Capture(path_of(one)).scan()
    assert scan["records"].get("SAMPLE", 0) == one["oracle_events"]
    for event, count in one["tracepoint_counts"].items():
        assert scan["events"][event] == count
