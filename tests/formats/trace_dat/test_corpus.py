# Files of trace-cmd that strangers recorded: every event and field compared with trace-cmd's own
# reading, and read within bounds.

from functools import cache
from typing import Any

import pytest

from netcost_analysis._native import Capture, CaptureError
from netcost_analysis.opening import opening
from support.bounded import bounded
from support.corpus import files, name, path_of
from support.native_tables import ALL_TABLES, Answer, assert_conserved
from support.run_cli import Netcost
from support.tracedat.compared import assert_same

FILES = files("trace.dat")


@pytest.mark.parametrize("one", FILES, ids=name)
def test_every_event_and_field_is_what_trace_cmd_says(one: dict[str, Any]) -> None:
    path = path_of(one)
    counts = assert_same(path)
    assert sum(counts.values()) == one["oracle_events"]
    assert one["tracepoint_counts"].items() <= counts.items()


# (version, word, byte order, clock, compressed, first and last words of uname)
HEADERS = {
    "178": (6, 4, "little", "local", False, "buildroot", "i686"),
    "200": (7, 8, "little", "local", True, "NEO-KIFI-RESURRECTED", "x86_64"),
    "203": (6, 4, "little", "local", False, "buildroot", "i686"),
    "209": (7, 8, "little", "perf", True, "lanhao-VirtualBox", "x86_64"),
}


@pytest.mark.parametrize("one", FILES, ids=name)
def test_headers(one: dict[str, Any]) -> None:
    header = Capture(str(path_of(one))).header()
    words = header["uname"].split()
    found = [
        header[name] for name in ("version", "word_bytes", "byte_order", "clock", "compressed")
    ]
    assert (*found, words[1], words[-1]) == HEADERS[one["file"][:3]]
    assert header["format"] == "trace.dat"
    assert (header["time_unit"], header["resolution_ns"]) == ("ns", 1)
    assert [buffer["name"] for buffer in header["buffers"]] == [""]


@pytest.mark.parametrize("one", FILES, ids=name)
def test_ledgers_conserve_or_say_what_is_missing(one: dict[str, Any]) -> None:
    path = path_of(one)
    if "sched_switch" in one["tracepoint_counts"]:
        assert_conserved(Answer(path, ALL_TABLES))
        return
    with pytest.raises(CaptureError, match=r"^no ledger: .*sched_switch") as refused:
        Answer(path, ALL_TABLES)
    assert "\n" not in str(refused.value)


EVERYTHING = """
    one = capture()
    tables = [one.kallsyms(), one.all_events(), one.scan()]
    try:
        one.timeline(["segments", "softirqs", "hardirqs", "polls", "slices", "migrations"])
    except CaptureError as error:
        assert str(error).startswith("no ledger")"""


@pytest.mark.parametrize("one", FILES, ids=name)
def test_any_file_is_read_in_ten_seconds_and_a_gibibyte(one: dict[str, Any]) -> None:
    assert bounded(path_of(one), EVERYTHING.strip(), seconds=10, megabytes=1024) == "read"


@pytest.mark.parametrize("one", FILES, ids=name)
def test_info_and_events(
    netcost: Netcost, one: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Opened once: a command for each of its events would look through all of it again.
    monkeypatch.setattr(opening, "open_capture", cache(opening.open_capture))
    info = netcost("info", str(path_of(one)), "--json")
    assert info.code == 0, info.err
    assert info.json["format"] == "trace.dat"
    counts = {event: count for event, count in info.json["events"].items() if count}
    assert sum(counts.values()) == one["oracle_events"]
    for event, count in counts.items():
        done = netcost("events", str(path_of(one)), event, "--json", "--limit", "3")
        assert (done.code, len(done.json)) == (0, min(count, 3)), done.err
