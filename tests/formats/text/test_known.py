# The tracepoints that text turns back into fields: every wording that kernels, perf and trace-cmd
# had for them.

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from support.text_capture import capture, only, tables

LINE = "{comm:>16}-{tid:<7d} [000] d..2. {time}: {event}: {text}\n"


def line(event: str, text: str, time: str = "1.000000") -> str:
    return LINE.format(comm="sh", tid=8, event=event, text=text, time=time)


COMMON = (
    "time_ns",
    "common_cpu",
    "common_pid",
    "common_comm",
    "common_flags",
    "common_preempt_count",
)
SW = "prev_comm={} prev_pid={} prev_prio={} prev_state={} ==> next_comm={} next_pid={} next_prio={}"
HASHED = "napi poll on napi struct {} for device {} work 1 budget 8"
NAPI = "napi poll on napi struct 0xffff9d3d53863e88 for device "
POINTER = 0xFFFF9D3D53863E88
SWITCH = ("prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio")
WAKEUP = ("comm", "pid", "prio", "target_cpu")
WAKEUP_OLD = ("comm", "pid", "prio", "success", "target_cpu")
MIGRATE = ("comm", "pid", "prio", "orig_cpu", "dest_cpu")
FORK = ("parent_comm", "parent_pid", "child_comm", "child_pid")
POLL = ("napi", "dev_name", "work", "budget")

TEXTS: list[tuple[str, str, tuple[str, ...], tuple[Any, ...]]] = [
    ("softirq_entry", "vec=3 [action=NET_RX]", ("vec",), (3,)),
    ("softirq_raise", "vec=9 [action=RCU]", ("vec",), (9,)),
    ("softirq_exit", "vec=1", ("vec",), (1,)),
    ("softirq_entry", "softirq=3 action=NET_RX", ("vec",), (3,)),
    (
        "irq_handler_entry",
        "irq=152 name=mlx5_comp2@pci:0000:d8:00.0",
        ("irq", "name"),
        (152, "mlx5_comp2@pci:0000:d8:00.0"),
    ),
    ("irq_handler_entry", "irq=0 name=arch timer, two", ("irq", "name"), (0, "arch timer, two")),
    ("irq_handler_entry", "irq=7 name=eth0 handler=foo+0x0/0x8", ("irq", "name"), (7, "eth0")),
    ("irq_handler_entry", "irq=7 name=", ("irq", "name"), (7, "")),
    ("irq_handler_exit", "irq=152 ret=handled", ("irq", "ret"), (152, 1)),
    ("irq_handler_exit", "irq=152 ret=unhandled", ("irq", "ret"), (152, 0)),
    ("irq_handler_exit", "irq=152 ret=2", ("irq", "ret"), (152, 2)),
    ("local_timer_entry", "vector=236", ("vector",), (236,)),
    ("call_function_single_exit", "vector=251", ("vector",), (251,)),
    ("reschedule_entry", "vector=253", ("vector",), (253,)),
    ("napi_poll", NAPI + "eth0 work 64 budget 64", POLL, (POINTER, "eth0", 64, 64)),
    ("napi_poll", NAPI + "(no_device) work 0 budget 64", POLL, (POINTER, "(no_device)", 0, 64)),
    ("napi_poll", NAPI + "eth0", POLL[:2], (POINTER, "eth0")),
    ("napi_poll", HASHED.format("00000000456b5702", "wlan0"), POLL, (0x456B5702, "wlan0", 1, 8)),
    ("napi_poll", HASHED.format("(____ptrval____)", "a"), POLL, (0, "a", 1, 8)),
    (
        "napi_poll",
        "napi=0xffff9d3d53863e88 dev_name=eth0 work=3 budget=64",
        POLL,
        (POINTER, "eth0", 3, 64),
    ),
    (
        "sched_switch",
        SW.format("a b", 7, 120, "S", "swapper/0", 0, 120),
        SWITCH,
        ("a b", 7, 120, 1, "swapper/0", 0, 120),
    ),
    (
        "sched_switch",
        SW.format("prev_pid=9 x", 7, -2, "R+", "n next_pid=3", 4, 98),
        SWITCH,
        ("prev_pid=9 x", 7, -2, 256, "n next_pid=3", 4, 98),
    ),
    (
        "sched_switch",
        SW.format(" ==>", 7, 0, "X", "", 4, 0) + " expeller=1",
        SWITCH,
        (" ==>", 7, 0, 16, "", 4, 0),
    ),
    (
        "sched_switch",
        SW.format("a", 7, 120, 64, "b", 8, 120).replace(" ==>", ""),
        SWITCH,
        ("a", 7, 120, 64, "b", 8, 120),
    ),
    (
        "sched_switch",
        "a:7 [120] S ==> swapper/1:0 [120]",
        SWITCH,
        ("a", 7, 120, 1, "swapper/1", 0, 120),
    ),
    (
        "sched_switch",
        "a: 1 [2]:7 [120] D|W ==> kworker/1:2:33 [100]",
        SWITCH,
        ("a: 1 [2]", 7, 120, 0x82, "kworker/1:2", 33, 100),
    ),
    ("sched_switch", "task a:7 [120] (R) ==> b:8 [115]", SWITCH, ("a", 7, 120, 0, "b", 8, 115)),
    ("sched_wakeup", "comm=a b pid=7 prio=120 target_cpu=002", WAKEUP, ("a b", 7, 120, 2)),
    ("sched_waking", "comm=a pid=7 prio=120 target_cpu=011", WAKEUP, ("a", 7, 120, 11)),
    (
        "sched_wakeup",
        "comm=a pid=7 prio=120 success=1 target_cpu=002",
        WAKEUP_OLD,
        ("a", 7, 120, 1, 2),
    ),
    (
        "sched_wakeup_new",
        "comm=a pid=7 prio=120 success=0 target_cpu=002",
        WAKEUP_OLD,
        ("a", 7, 120, 0, 2),
    ),
    ("sched_wakeup", "rcu_preempt:15 [120] CPU:001", WAKEUP, ("rcu_preempt", 15, 120, 1)),
    ("sched_wakeup", "a:b:15 [120] success=1 CPU:001", WAKEUP_OLD, ("a:b", 15, 120, 1, 1)),
    ("sched_wakeup", "task a:15 [120] success=1 [003]", WAKEUP_OLD, ("a", 15, 120, 1, 3)),
    (
        "sched_migrate_task",
        "comm=a pid=7 prio=120 orig_cpu=0 dest_cpu=1",
        MIGRATE,
        ("a", 7, 120, 0, 1),
    ),
    (
        "sched_migrate_task",
        "comm=a pid=7 prio=120 load=9 orig_cpu=0 dest_cpu=1 running=0",
        MIGRATE,
        ("a", 7, 120, 0, 1),
    ),
    ("sched_process_fork", "comm=a pid=7 child_comm=b c child_pid=9", FORK, ("a", 7, "b c", 9)),
    (
        "sched_process_fork",
        "parent_comm=a parent_pid=7 child_comm=b child_pid=9",
        FORK,
        ("a", 7, "b", 9),
    ),
    (
        "sched_process_exec",
        "filename=/usr/bin/a pid=3 b pid=7 old_pid=6",
        ("filename", "pid", "old_pid"),
        ("/usr/bin/a pid=3 b", 7, 6),
    ),
    ("sched_process_exit", "comm=a pid=7 prio=120", ("comm", "pid", "prio"), ("a", 7, 120)),
    (
        "sched_process_exit",
        "comm=a pid=7 prio=120 group_dead=true",
        ("comm", "pid", "prio", "group_dead"),
        ("a", 7, 120, True),
    ),
    (
        "sched_process_exit",
        "comm=a pid=7 prio=120 group_dead=false",
        ("comm", "pid", "prio", "group_dead"),
        ("a", 7, 120, False),
    ),
]


def test_fields(tmp_path: Path) -> None:
    for event, text, names, values in TEXTS:
        full, row = only(tmp_path, line(event, text))
        assert full.split(":")[1] == event
        assert tuple(row) == COMMON + names
        assert tuple(row[name] for name in names) == values


LETTERS = [
    *(("R", 0), ("S", 1), ("D", 2), ("T", 4), ("t", 8), ("X", 16), ("Z", 32), ("P", 64)),
    *(("I", 128), ("R+", 256), ("S+", 257), ("S|D", 3), ("D|K", 2), ("x", 16), ("D|N", 128)),
]


def test_states(tmp_path: Path) -> None:
    for letters, bits in LETTERS:
        _, row = only(tmp_path, line("sched_switch", SW.format("a", 7, 1, letters, "b", 8, 1)))
        assert row["prev_state"] == bits, letters


# Kernels moved the bit that says "preempted"; where the text has numbers, they stay, and the ledger
# is told which it is.
def test_numbers_of_older_kernels_mean_preempted_too(tmp_path: Path) -> None:
    for bit in (0x200, 0x400, 0x800, 0x1000):

        def switch(time: int, prev: int, state: int, next_: int) -> str:
            text = f"prev_comm=t{prev} prev_pid={prev} prev_prio=1 prev_state={state} "
            text += f"next_comm=t{next_} next_pid={next_} next_prio=1"
            event, stamp = "sched_switch", f"{time}.000000"
            return LINE.format(comm=f"t{prev}", tid=prev, event=event, text=text, time=stamp)

        found = capture(tmp_path, switch(1, 7, 1, 8) + switch(2, 8, bit, 7) + switch(3, 7, 1, 8))
        states = pa.table(found.events("sched:sched_switch"))["prev_state"].to_pylist()
        assert states == [1, bit, 1]
        slices = pa.table(found.timeline(["slices"])["tables"]["slices"]).to_pylist()
        # Who is preempted waits from then on; who sleeps waits from when he is woken.
        assert [one["wait_ns"] for one in slices if one["tid"] == 8] == [None, 1_000_000_000]


def test_a_text_that_is_not_the_kernels_leaves_its_line_out(tmp_path: Path) -> None:
    for text in (
        *("", "vec", "vec=", "vec=x", "vector=3", "action=NET_RX", "vec=99999999999"),
        *("[action=NET_RX]", "\x00", "vec=-"),
    ):
        good = line("softirq_entry", "vec=3 [action=NET_RX]")
        found = capture(tmp_path, good + line("softirq_entry", text) + good)
        assert len(pa.table(found.events("irq:softirq_entry"))) == 2
        scan = found.scan()
        assert scan["events"] == {"irq:softirq_entry": 2}
        [note] = [note for note in scan["notes"] if "left out" in note]
        assert note.startswith("1 of 3 ")
        assert "irq:softirq_entry" in note
        assert "line 2:" in note


# A vendor's kernel may print an event in its own way: then that is what there is.
def test_an_event_that_is_never_printed_as_known_keeps_its_text(tmp_path: Path) -> None:
    text = "from a to b"
    name, row = only(tmp_path, line("sched_migrate_task", text))
    assert (name, row["text"]) == ("sched:sched_migrate_task", text)
    [note] = capture(tmp_path, line("sched_migrate_task", text)).scan()["notes"]
    assert " kept " in note


# What only some lines have is no column.
def test_optional_fields_are_those_that_all_lines_have(tmp_path: Path) -> None:
    old, new = "comm=a pid=7 prio=1 success=1 target_cpu=002", "comm=a pid=7 prio=1 target_cpu=003"
    [found] = tables(tmp_path, line("sched_wakeup", old) + line("sched_wakeup", new)).values()
    assert [row["target_cpu"] for row in found] == [2, 3]
    assert all("success" not in row for row in found)


# perf names the system, and another system's event of the same name is another event.
def test_a_known_name_in_another_system_is_another_event(tmp_path: Path) -> None:
    name, row = only(tmp_path, "sh 8 [000] 1.000000: mine:sched_switch: vec=3\n")
    assert (name, row["text"]) == ("mine:sched_switch", "vec=3")


def test_columns_have_the_types_of_the_kernels_fields(tmp_path: Path) -> None:
    texts = [line(event, text, f"{at}.5") for at, (event, text, *_) in enumerate(TEXTS)]
    found = capture(tmp_path, "".join(texts)).all_events()
    kinds = {
        (name, field.name): str(field.type)
        for name, table in found.items()
        for field in pa.table(table).schema
    }
    assert kinds["irq:softirq_entry", "vec"] == "uint32"
    assert kinds["irq:irq_handler_entry", "irq"] == "int32"
    assert kinds["napi:napi_poll", "napi"] == "uint64"
    assert kinds["sched:sched_switch", "prev_state"] == "int64"
    assert kinds["sched:sched_switch", "common_flags"] == "uint8"
    assert kinds["sched:sched_wakeup", "target_cpu"] == "int32"
    assert kinds["irq_vectors:local_timer_entry", "vector"] == "int32"
    text = "dictionary<values=string, indices=int8, ordered=0>"
    assert kinds["napi:napi_poll", "dev_name"] == kinds["sched:sched_switch", "prev_comm"] == text


# Letters behind a number make it no number, and each vector has one name. A line that breaks either
# rule keeps its text, and is not read as that event.
@pytest.mark.parametrize(
    ("event", "text"),
    [
        ("softirq_entry", "vec=3D1 [action=TIMER]"),
        ("softirq_entry", "vec=3 [action=TIMER]"),
        ("softirq_raise", "vec=1 [action=NET_RX]"),
        ("irq_handler_entry", "irq=0x name=eth0"),
        ("irq_handler_entry", "irq=7f name=eth0"),
        ("sched_migrate_task", "comm=a pid=7x prio=120 orig_cpu=0 dest_cpu=1"),
        ("local_timer_entry", "vector=236.5"),
    ],
)
def test_what_is_no_whole_number_is_no_field(event: str, text: str, tmp_path: Path) -> None:
    _, row = only(tmp_path, line(event, text))
    assert row["text"] == text


# ftrace's own words for sys_enter_* and sys_exit_*.
@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("sys_read(fd: 3, buf: 7ffd0, count: 200)", "syscalls:sys_enter"),
        ("sys_sched_yield()", "syscalls:sys_enter"),
        ("sys_read -> 0x1", "syscalls:sys_exit"),
        ("sys_futex -> 0xfffffffffffffff5", "syscalls:sys_exit"),
    ],
)
def test_system_calls_in_ftraces_words(text: str, event: str, tmp_path: Path) -> None:
    full, row = only(tmp_path, f"sh-7 [000] d..1. 1.000001: {text}\n")
    assert (full, row["text"]) == (event, text)
