# Events whose bytes do not fit their format, names that change, and tables cut short.

from collections import Counter
from pathlib import Path

import pytest

from netcost_analysis._native import Capture, CaptureError
from support.native_tables import events, rows
from support.perfdata import (
    Attr,
    Comm,
    Common,
    FinishedRound,
    Record,
    Sample,
    Where,
    cpu,
    recording,
    write_file,
)
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.perfdata.machine import X86_64
from support.told import OPENSSL, UDPSINK

ATTR = Attr(t.IRQ_HANDLER_ENTRY.event, t.IRQ_HANDLER_ENTRY.id, (7,))


def written(path: Path, *records: Record) -> Path:
    target = path / "perf.data"
    target.write_bytes(write_file([ATTR], [t.IRQ_HANDLER_ENTRY], [*records, FinishedRound()]))
    return target


def entry(time: int, name: str | bytes = "eth0", tid: int = 500) -> Sample:
    raw = t.IRQ_HANDLER_ENTRY.pack({"irq": 32, "name": name}, Common(pid=tid), X86_64)
    return Sample(Where(0, time, tid, tid), raw)


def test_bytes_that_are_no_utf8_still_give_a_name(tmp_path: Path) -> None:
    [row] = events(written(tmp_path, entry(1, b"eth\xff\xfe0")), "irq:irq_handler_entry")
    assert row["name"].startswith("eth")
    assert row["irq"] == 32


# The kernel never writes these; a damaged file can hold them.
def test_payloads_that_contradict_the_format_give_rows_or_one_error(tmp_path: Path) -> None:
    for damage in ("short", "outside", "huge", "empty"):
        whole = entry(2)
        raw = bytearray(whole.raw)
        if damage == "short":
            raw = raw[:12]
        elif damage == "outside":
            raw[12:16] = X86_64.pack("I", 4 << 16 | 0xFFF0)
        elif damage == "huge":
            raw[12:16] = X86_64.pack("I", 0xFFFF << 16 | 16)
        else:
            raw = bytearray()
        path = written(tmp_path, entry(1), Sample(whole.where, bytes(raw)), entry(3))
        try:
            found = events(path, "irq:irq_handler_entry")
        except CaptureError as error:
            if "\n" in str(error):
                raise
            continue
        assert found[0]["time_ns"] == 1
        assert found[-1]["time_ns"] == 3
        assert found[0]["name"] == found[-1]["name"] == "eth0"


def test_names_come_from_comm_records_and_change_with_them(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        Comm(500, 500, "sh"),
        entry(10),
        Comm(500, 500, "openssl", Where(0, 20, 500, 500)),
        entry(30),
        entry(40, tid=0),
    )
    names = [row["common_comm"] for row in events(path, "irq:irq_handler_entry")]
    assert names[:2] == ["sh", "openssl"]
    assert names[2].startswith("swapper")


def test_a_limit_cuts_the_table(tmp_path: Path) -> None:
    path = written(tmp_path, *(entry(time) for time in range(1, 11)))
    capture = Capture(str(path))
    for limit in (0, 1, 9, 10, 11):
        found = rows(capture.events("irq:irq_handler_entry", limit))
        assert [row["time_ns"] for row in found] == list(range(1, 1 + min(limit, 10)))


def test_an_event_that_is_not_there_is_named_in_the_error(tmp_path: Path) -> None:
    path = written(tmp_path, entry(1))
    with pytest.raises(CaptureError, match="napi:napi_poll"):
        Capture(str(path)).events("napi:napi_poll")


# Softirq numbers are named by the recorded print format, not by this year's kernel.
def test_actions_come_from_the_recorded_print_format(tmp_path: Path) -> None:
    old = [
        type(one)(
            *(one.system, one.name, one.id, one.fields),
            one.print_fmt.replace('{ 5, "IRQ_POLL" }', '{ 5, "BLOCK_IOPOLL" }'),
        )
        for one in t.FORMATS
    ]
    told = recording(
        cpu(0, h.SoftirqEntry(10, 5), h.SoftirqExit(20, 5), h.Waking(30, UDPSINK), task=OPENSSL),
        formats=tuple(old),
    )
    path = told.write(tmp_path / "perf.data")
    [row] = rows(Capture(str(path)).timeline(["softirqs"])["tables"]["softirqs"])
    assert (row["vec"], row["action"]) == (5, "BLOCK_IOPOLL")


# Counted natively, and on the table of the same events.
def test_events_are_counted_by_cpu_and_field_in_windows(tmp_path: Path) -> None:
    busy = [h.SoftirqEntry(1_000, 3), h.SoftirqExit(2_000, 3), h.SoftirqEntry(2_500, 1)]
    busy += [h.SoftirqExit(2_700, 1), h.NapiPoll(2_800, work=7), h.Waking(3_000, UDPSINK)]
    recording(cpu(0, *busy, task=OPENSSL), cpu(1, *busy[:2], task=UDPSINK)).write(
        tmp_path / "perf.data"
    )
    capture = Capture(str(tmp_path / "perf.data"))
    entry, windows = "irq:softirq_entry", [(0, 1_000), (1_001, 9_000), (1_000, 2_500), (9, 8)]
    wanted = [
        ([entry], "vec", None, windows),
        ([entry, "irq:softirq_exit"], None, None, windows),
        (["napi:napi_poll"], None, "work", windows),
        ([entry], "no_such_field", None, windows),
        (["napi:napi_poll"], "dev_name", None, windows),
        ([entry], "vec", None, []),
    ]
    by_vector, together, packets, *none, empty = capture.counts(wanted)
    assert none == [None, None]
    assert empty == []
    table = rows(capture.events(entry))
    assert by_vector == [
        dict(
            Counter(
                (row["common_cpu"], row["vec"]) for row in table if start <= row["time_ns"] <= end
            )
        )
        for start, end in windows
    ]
    assert by_vector[0] == {(0, 3): 1, (1, 3): 1}
    assert together[1] == {(0, 0): 3, (1, 0): 1}
    assert packets == [{}, {(0, 0): 7}, {}, {}]
    assert capture.counts([]) == []
    with pytest.raises(CaptureError, match="no event 'no:such_event'"):
        capture.counts([(["no:such_event"], None, None, windows)])
