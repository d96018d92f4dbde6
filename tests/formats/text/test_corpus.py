# Texts that strangers kept: every event counted, known ones in tables, all within bounds.

import re
from typing import Any

import pyarrow as pa
import pytest

from netcost_analysis._native import Capture
from support.bounded import bounded
from support.corpus import ABSENT, files, name, path_of
from support.native_tables import rows
from support.text_capture import counts

FILES = files("text")


@pytest.mark.parametrize("one", FILES, ids=name)
def test_events_are_as_many_as_others_count(one: dict[str, Any]) -> None:
    scan = Capture(str(path_of(one))).scan()
    assert counts(scan) == one["tracepoint_counts"]
    assert scan["records"]["event"] == one["oracle_events"]


# A second reading of the lines, for these files only: what stands before and behind a time.
LINE = re.compile(r"^(?P<who>.*?)\s\[(?P<cpu>\d{3})\].*?\s(?P<time>\d+\.\d{6}):\s+(?P<rest>.*)$")


@pytest.mark.parametrize("one", FILES, ids=name)
def test_every_line_has_its_row(one: dict[str, Any]) -> None:
    capture = Capture(str(path_of(one)))
    found = [
        (row["time_ns"], row["common_cpu"], row["common_pid"])
        for table in capture.all_events().values()
        for row in rows(table)
    ]
    wanted = []
    for line in path_of(one).read_text(errors="replace").splitlines():
        if match := LINE.match(line):
            [pid] = re.findall(r"(\d+)$", match["who"].rstrip())
            time = int(match["time"].replace(".", "")) * 1000
            wanted.append((time, int(match["cpu"]), int(pid)))
    assert sorted(found) == sorted(wanted)
    assert len(wanted) == one["oracle_events"]


SWITCHES = [one for one in FILES if "sched_switch" in one.get("tracepoint_counts", ())] or ABSENT


@pytest.mark.parametrize("one", SWITCHES, ids=name)
def test_every_switch_has_its_fields(one: dict[str, Any]) -> None:
    text = path_of(one).read_text()
    fields = re.findall(r"prev_comm=(\S+) prev_pid=(\d+) .*? next_comm=(\S+) next_pid=(\d+)", text)
    table = pa.table(Capture(str(path_of(one))).events("sched:sched_switch"))
    names = ("prev_comm", "prev_pid", "next_comm", "next_pid")
    columns = [[str(value) for value in table[name].to_pylist()] for name in names]
    assert list(zip(*columns, strict=True)) == fields


@pytest.mark.parametrize("one", FILES, ids=name)
def test_any_text_is_read_in_seconds_and_a_gibibyte(one: dict[str, Any]) -> None:
    what = """
    one = capture()
    names = [event["name"] for event in one.header()["events"]]
    tables = [one.events(name) for name in names]
    tables += [one.mappings(), one.kernel_symbols(), one.all_events(), one.scan()]
    try:
        one.timeline(["segments", "softirqs", "hardirqs", "polls", "slices", "migrations"])
    except CaptureError as error:
        assert str(error).startswith("no ledger")"""
    assert bounded(path_of(one), what.strip(), seconds=5, megabytes=512) == "read"
