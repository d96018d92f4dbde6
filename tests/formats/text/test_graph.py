# function_graph's lines, with every column that its options give and take.

from pathlib import Path

import pytest

from netcost_analysis import CaptureError
from support.native_tables import Row
from support.text_capture import capture, tables

ENTRY, EXIT = "ftrace:funcgraph_entry", "ftrace:funcgraph_exit"
SWITCH = (
    "prev_comm=sh prev_pid=8 prev_prio=120 prev_state=R+ ==> next_comm=x|y next_pid=9 next_prio=1"
)
NS = 360_774522_000

# Time, CPU, task, context, duration; and what follows from them: time_ns, common_cpu, common_pid.
COLUMNS = [
    (" {cpu})", None, None),
    (" {cpu})    sh-4802    |", None, 4802),
    ("  360.774522 |   {cpu})", NS, None),
    ("  360.774522 |   {cpu})    sh-4802    |", NS, 4802),
    ("  360.774522 |     0.000100 |   {cpu})   <idle>-0    |", NS, 0),
    ("  360.774522 |   {cpu})    sh-4802    |  d.h1. |", NS, 4802),
    ("  360.774522 |   {cpu})   kworker-12   |", NS, 12),
]
PLACED = [(place, *one) for place, one in enumerate(COLUMNS)]
DURATIONS = ["               |", "   0.541 us    |", " + 12.541 us   |", " $ 1254133 us |", ""]
CALLS = [
    ("  sys_open() {", ENTRY),
    ("    __might_sleep();", ENTRY),
    ("    do_sys_open(dfd=-100, name=0x7f, how=0xff) { /* caller+0x1 */", ENTRY),
    ("    foo [ext4]();", ENTRY),
    ("    foo(); /* ret=0x0 */", ENTRY),
    ("  }", EXIT),
    ("  } /* sys_open */", EXIT),
    ("  } /* sys_open ret=-2 */", EXIT),
]


# Each two of columns, duration and call stand in one line.
@pytest.mark.parametrize(("place", "columns", "time_ns", "tid"), PLACED)
def test_calls(
    tmp_path: Path, place: int, columns: str, time_ns: int | None, tid: int | None
) -> None:
    for number, (call, name) in enumerate(CALLS):
        duration = DURATIONS[(place + number) % len(DURATIONS)]
        line = columns.format(cpu=1) + duration + call
        [(found, [row])] = tables(tmp_path, f"# tracer: function_graph\n#\n{line}\n").items()
        assert (found, row["common_cpu"], row.get("common_pid")) == (name, 1, tid)
        assert row.get("time_ns") == time_ns
        assert ("time_order" in row) == (time_ns is None)
        # As trace-cmd shows such events: duration, bar, call.
        assert row["text"] == (duration + call).strip()
        flags = (row.get("common_flags"), row.get("common_preempt_count"))
        assert flags == ((0x09, 1) if "d.h1." in columns else (None, None))


# What other tracers and programs record meanwhile stands in comments.
@pytest.mark.parametrize(("place", "columns", "time_ns", "tid"), PLACED)
def test_comments_are_the_events_that_they_name(
    tmp_path: Path, place: int, columns: str, time_ns: int | None, tid: int | None
) -> None:
    start = columns.format(cpu=0) + DURATIONS[-(place % 2)]
    text = f"{start}  /* sched_switch: {SWITCH} */\n"
    text += f"{start}    /* softirq_entry: vec=3 [action=NET_RX] */\n"
    text += f"{start}    /* cpu_idle: state=1 cpu_id=0 */\n"
    text += f"{start}    /* what trace_printk: left */\n"
    found = tables(tmp_path, text)
    names = ["sched:sched_switch", "irq:softirq_entry", "cpu_idle", "ftrace:print"]
    assert list(found) == names
    [switch] = found["sched:sched_switch"]
    assert (switch["next_comm"], switch["next_pid"], switch["prev_state"]) == ("x|y", 9, 0x100)
    assert (switch.get("time_ns"), switch.get("common_pid")) == (time_ns, tid)
    assert found["irq:softirq_entry"][0]["vec"] == 3
    assert found["cpu_idle"][0]["text"] == "state=1 cpu_id=0"
    assert found["ftrace:print"][0]["text"] == "what trace_printk: left"


WITHOUT_TIMES = """\
# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 0)               |  sys_open() {
 0)   0.382 us    |    __might_sleep();
 ------------------------------------------
 1)    sh-4802    =>   <idle>-0
 ------------------------------------------

 1)   ==========> |
 1)               |  do_IRQ() {
 1)   <========== |
 0) + 12.100 us   |  }
"""


# Their order is all that lines without times tell.
def test_without_times_there_is_the_order(tmp_path: Path) -> None:
    found = capture(tmp_path, WITHOUT_TIMES)
    header, scan = found.header(), found.scan()
    assert (header["mode"], header["time_unit"]) == ("ftrace", "order")
    assert scan["records"] == {"event": 4, "comment": 9, "blank": 1}
    assert scan["notes"] == []
    rows: dict[str, list[Row]] = tables(tmp_path, WITHOUT_TIMES)
    assert [row["time_order"] for row in rows[ENTRY]] == [0, 1, 2]
    assert [row["time_order"] for row in rows[EXIT]] == [3]
    assert [row["common_cpu"] for row in rows[ENTRY]] == [0, 0, 1]
    with pytest.raises(Exception, match="no ledger"):
        found.timeline(["segments"])


# Of seven letters, more may have been cut away.
def test_names_that_may_be_cut_are_no_names(tmp_path: Path) -> None:
    line = " 0)  {}-12    |   0.541 us    |  foo();\n"
    found = tables(tmp_path, line.format("kworker") + line.format("a b").replace("12", "13"))
    assert [row["common_comm"] for row in found[ENTRY]] == [None, "a b"]


PROSE = [
    "1) Install it (as root);",
    " 2) foo",
    "1.5 | x",
    "0) | done",
    "3) a() or b();",
    "1) see (below) {",
    "0) foo() {} bar",
]


def test_lists_of_other_texts_are_no_calls(tmp_path: Path) -> None:
    for line in PROSE:
        with pytest.raises(CaptureError, match="is an event"):
            capture(tmp_path, f"What to do:\n{line}\n")


# An event's text may hold anything, such as another line.
def test_a_call_is_one_whatever_it_says(tmp_path: Path) -> None:
    told = "sh 8 [001] 1.500000: irq:softirq_exit: vec=3"
    [(name, [row])] = tables(tmp_path, f" 0)  |  /* print: {told} */\n").items()
    assert (name, row["text"]) == ("ftrace:print", told)
