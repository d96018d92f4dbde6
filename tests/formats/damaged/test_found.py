# What the fuzz targets in native/fuzz have found, each told by the writer.

import struct
from dataclasses import replace
from pathlib import Path

import netcost_analysis
from support.bounded import attrs, sample
from support.native_tables import ALL_TABLES, Answer, assert_conserved
from support.perfdata import tracepoints as t
from support.perfdata import write_file, write_pipe
from support.perfdata.formats import Value

# Where NAPI_POLL says where its device's name is.
DEVICE_NAME = 16
# Where a perf.data's header says how large its data are; eight bytes before, where they begin.
DATA_SIZE = 48
POLL: dict[str, Value] = {"napi": 1, "dev_name": "eth0", "work": 1, "budget": 64}


# No instance, and a name outside the record: nothing that would tell this poll from no poll.
def test_a_poll_of_nothing(tmp_path: Path) -> None:
    formats = (t.NAPI_POLL,)
    poll = sample(formats, t.NAPI_POLL, POLL | {"napi": 0, "dev_name": ""}, 0x10)
    raw = bytearray(poll.raw)
    struct.pack_into("<I", raw, DEVICE_NAME, 0xFFFFFFFF)
    path = tmp_path / "perf.data"
    path.write_bytes(write_pipe(attrs(formats), formats, [replace(poll, raw=bytes(raw))]))
    [row] = Answer(path).polls
    assert (row["device"], row["work"]) == (None, 1)


# Without flags a softirq that exits unentered may have been open since the loss, in an earlier stay
# of the same task. What is unknown then is each stay's own: the later one had less than nothing.
def test_an_exit_without_an_entry_reaches_into_an_earlier_stay(tmp_path: Path) -> None:
    waking = "comm=ab pid=8 prio=120 target_cpu=001"
    to_ab = "prev_comm=sh prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=ab next_pid=8"
    to_sh = "prev_comm=ab prev_pid=8 prev_prio=120 prev_state=R+ ==> next_comm=sh next_pid=7"
    told = [
        ("sh-7", 1, "softirq_entry", "vec=3 [action=NET_RX]"),
        ("sh-7", 10, "sched_waking", waking),
        ("sh-7", 30, "sched_switch", f"{to_ab} next_prio=98"),
        ("ab-8", 40, "sched_switch", f"{to_sh} next_prio=98"),
        ("sh-7", 45, "softirq_exit", "vec=3 [action=NET_RX]"),
        ("sh-7", 50, "softirq_raise", "vec=3 [action=NET_RX]"),
    ]
    lines = [
        f"      {task}       1-0x11    76.{us:06}: {event}:      {fields}"
        for task, us, event, fields in told
    ]
    lines.insert(1, "CPU:1 [EVENTS DROPPED]")
    path = tmp_path / "trace.txt"
    path.write_text("cpus=2\n" + "\n".join(lines) + "\n")
    answer = Answer(path, ALL_TABLES)
    assert_conserved(answer)
    stays = [(row["comm"], row["task_ns"], row["unknown_ns"]) for row in answer.tables["slices"]]
    assert stays == [("sh", 0, 0), ("sh", 0, 20_000), ("ab", 10_000, 0), ("sh", 5_000, 5_000)]


# A size that no file has: the sum went over the end of 64 bits.
def test_a_size_of_records_beyond_all_numbers(tmp_path: Path) -> None:
    told = sample((t.NAPI_POLL,), t.NAPI_POLL, POLL, 0x10)
    whole = bytearray(write_file(attrs((t.NAPI_POLL,)), (t.NAPI_POLL,), [told]))
    (begin,) = struct.unpack_from("<Q", whole, DATA_SIZE - 8)
    struct.pack_into("<Q", whole, DATA_SIZE, 2**64 - 1 - begin)
    path = tmp_path / "perf.data"
    path.write_bytes(whole)
    [first, *others] = [str(note) for note in netcost_analysis.open_capture(path).header["notes"]]
    assert first.startswith("file cut short: ")
    assert str(2**64 - 1) in first
    assert not any("capture's end" in note for note in others)
