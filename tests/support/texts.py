# Texts as perf, trace-cmd and ftrace print them, and what is read of them. First: one of each kind,
# with a little of everything in it, line by line.

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from netcost_analysis._native import Capture
from support.perfdata import Recording

SW = (
    "prev_comm={} prev_pid={} prev_prio=120 prev_state={} ==> next_comm={} next_pid={} next_prio=98"
)
NAPI = "napi poll on napi struct 0xffff9d3d53863e88 for device eth0 work {} budget 64"
TEXTS = [
    ("irq", "irq_handler_entry", "irq=36 name=virtio1-req.0"),
    ("irq", "irq_handler_exit", "irq=36 ret=handled"),
    ("irq", "softirq_raise", "vec=3 [action=NET_RX]"),
    ("irq", "softirq_entry", "vec=3 [action=NET_RX]"),
    ("napi", "napi_poll", NAPI.format(7)),
    ("irq", "softirq_exit", "vec=3 [action=NET_RX]"),
    ("irq_vectors", "local_timer_entry", "vector=236"),
    ("irq_vectors", "local_timer_exit", "vector=236"),
    ("sched", "sched_waking", "comm=a b pid=8 prio=120 target_cpu=001"),
    ("sched", "sched_wakeup", "comm=a b pid=8 prio=120 success=1 target_cpu=001"),
    ("sched", "sched_switch", SW.format("sh", 7, "S", "a b", 8)),
    ("sched", "sched_migrate_task", "comm=a b pid=8 prio=120 orig_cpu=0 dest_cpu=1"),
    ("sched", "sched_process_fork", "comm=sh pid=7 child_comm=sh child_pid=9"),
    ("sched", "sched_process_exec", "filename=/bin/true pid=9 old_pid=9"),
    ("sched", "sched_process_exit", "comm=true pid=9 prio=120 group_dead=true"),
    ("net", "netif_rx", "dev=lo skbaddr=0xffff len=9"),
    ("sched", "sched_switch", SW.format("a b", 8, "R+", "sh", 7)),
]
HEADERS = {
    "perf": "# ========\n# hostname : vm\n# cmdline : /usr/bin/perf record -a\n#\n",
    "trace-cmd": "cpus=2\n",
    "ftrace": "# tracer: nop\n#\n# entries-in-buffer/entries-written: 34/90   #P:2\n"
    "#   _-----=> irqs-off\n#  / _----=> need-resched\n# | / _---=> hardirq/softirq\n"
    "# || / _--=> preempt-depth\n# ||| / _-=> migrate-disable\n",
    "raw": "cpus=2\n",
    "graph": "# tracer: function_graph\n#\n",
    "verbose": "# tracer: nop\n# latency: 0 us, #34/90, CPU#0 | (M:PREEMPT VP:0 #P:2)\n",
    "latency": "# tracer: nop\n# latency: 0 us, #34/90, CPU#0 | (M:PREEMPT VP:0, KP:0 #P:2)\n",
}
LINES = {
    "perf": "{comm:>16} {tid:5d} [{cpu:03d}] {s:5d}.{us:06d}: {system}:{event}: {text}",
    "trace-cmd": "{comm:>16}-{tid:<5d} [{cpu:03d}] {s:5d}.{us:06d}: {event}:      {text}",
    "ftrace": "{comm:>16}-{tid:<7d} [{cpu:03d}] d.s2. {s:5d}.{us:06d}: {event}: {text}",
    "latency": "{comm:>8}-{tid:<7d} {cpu:3d}d.s2. {us:4d}us : {event}: {text}",
    "verbose": "{comm:>16} {tid:7d} {cpu:3d} 17 00000002 {place:08x} [{time_us:08x}] "
    "{place}.750ms (+0.007ms): {event}: {text}",
    "raw": "{comm:>8.8s}-{tid:<5d} {cpu:3d}-0x11 {s:5d}.{us:06d}: {event}:      {text}",
    "graph": " {s:5d}.{us:06d} |   {cpu})    {comm}-{tid}    |  d.s2. |               "
    "|  /* {event}: {text} */",
}


BY_TRACE_CMD = {"trace-cmd", "raw"}


@cache
def lines(kind: str) -> list[str]:
    found = HEADERS[kind].splitlines()
    for place in range(EVENTS):
        system, event, text = TEXTS[place % len(TEXTS)]
        # The second switch is of the other task.
        tid, comm = (8, "a b") if place % len(TEXTS) > 10 else (7, "sh")
        where = {"cpu": place // len(TEXTS) % 2, "s": 76, "us": 211513 + place * 7, "place": place}
        where["time_us"] = where["s"] * 1_000_000 + where["us"]
        found.append(
            LINES[kind].format(comm=comm, tid=tid, system=system, event=event, text=text, **where)
        )
        if place == 20:
            found.append(
                "CPU:1 [EVENTS DROPPED]" if kind in BY_TRACE_CMD else "CPU:1 [LOST 12 EVENTS]"
            )
        if place == 25 and kind == "perf":
            found.append("\tffffffff81135f6f foo ([kernel.kallsyms])\n")
    return found


EVENTS = 4 * len(TEXTS)


# What mutations and fuzzing start from, besides.
SWITCH = (
    "prev_comm=sh prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=a b next_pid=9 next_prio=120"
)
ENTRY, EXIT = "softirq_entry: vec=3 [action=NET_RX]", "softirq_exit: vec=3 [action=NET_RX]"

CHAINS = f"""\
# clockid: monotonic (1)
# event : name = cycles:u, , id = {{ 1 }}, {{ sample_period, sample_freq }} = 4000, freq = 1
sh 7/8 [000] 1.000001000:     250000 cycles:u:
\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])
\t          af08f5 std::map<int, a b>::at(int) const+0x65 (/usr/lib/a b.so.1 (deleted))
  call.c:847
\t               0 [unknown] ([unknown])

sh 7/8 [000] 1.000002000:          1 sched:sched_switch: {SWITCH}
\t          2724a main (inlined)

a b 9/9 [000] 1.000003000:     250000 cpu-clock:      7f6eb00f08f5 main+0x1 (/bin/sh)
:-1    -1/-1  [001] 1.000003500: irq:softirq_raise: vec=1 [action=TIMER]
sh 7/8 [000] 0.000000000: PERF_RECORD_COMM exec: sh:7/8
sh 7/8 [000] 1.000004000: PERF_RECORD_LOST lost 12
sh 7/8 [000] 1.000005000: PERF_RECORD_FORK(8:9):(7:8)
"""
GRAPH = f"""\
# tracer: function_graph
  360.774522 |   0)    sh-8       |  d..1. |               |  net_rx_action() {{
  360.774523 |   0)    sh-8       |  ..s1. |               |  /* {ENTRY} */
  360.774524 |   0)    sh-8       |  ..s1. | + 10.541 us   |    foo [e1000](a=1); /* caller */
  360.774525 |   0)    sh-8       |  ..s1. |               |  /* {EXIT} */
  360.774526 |   0)    sh-8       |  d..2. |               |  /* sched_switch: {SWITCH} */
 ------------------------------------------
 0)     sh-8      =>     a b-9
 ------------------------------------------

  360.774527 |   0)    a b-9      |  d..1. |   ==========> |
  360.774528 |   0)    a b-9      |  d..1. | $ 1254133 us  |  }} /* net_rx_action ret=-1 */
"""
BUFFERS = """\
cpus=2
            sh-8     [000] 76.211513186: softirq_entry:        vec=3
CPU:0 [12 EVENTS DROPPED]
            sh-8     [000] 76.211513386: softirq_exit:         vec=3
foo:            sh-8     [001] 76.211513186: softirq_entry:        vec=3 [action=NET_RX]
foo: CPU:1 [EVENTS DROPPED]
            sh-8     [001] 76.211513386: softirq_exit:         vec=3 [action=NET_RX]
"""
GRAPH_UNTIMED = """\
# CPU  DURATION                  FUNCTION CALLS
 0)               |  sys_open() {
 1)   0.382 us    |    __might_sleep();
 0)               |    /* a: word */
 0)   1.2 us      |  }
"""


def small_texts() -> dict[str, bytes]:
    kinds = {kind: "\n".join(lines(kind)) for kind in sorted(LINES)}
    others = {"chains": CHAINS, "calls": GRAPH, "calls-untimed": GRAPH_UNTIMED, "buffers": BUFFERS}
    kinds |= {kind: 6 * text for kind, text in others.items()}
    return {f"text-{kind}": text.encode() for kind, text in kinds.items()}


# Known lines, before and behind what a test puts between.
def step(cpu: int, at: int, what: str) -> str:
    return f"{'sh':>16}-{8:<7} [{cpu:03}] d..2. 0.{at:06}: {what}\n"


BEFORE = step(0, 100, ENTRY) + step(0, 200, EXIT) + step(1, 300, ENTRY)
BEHIND = step(0, 700, ENTRY) + step(1, 800, EXIT) + step(0, 900, EXIT) + step(1, 1_100, ENTRY)


def capture(folder: Path, text: str | bytes) -> Capture:
    path = folder / "trace.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return Capture(str(path))


def counts(scan: dict[str, Any]) -> dict[str, int]:
    return {name.split(":")[-1]: count for name, count in scan["events"].items()}


# What text cannot say: numbers of events, and of a handler only that it handled something.
ABSENT = {"common_type"}


def tables(path: Path, **options: Any) -> dict[str, pa.Table]:
    found = Capture(str(path), **options).all_events()
    read = {name: pa.table(table) for name, table in found.items()}
    return {name: table for name, table in read.items() if len(table)}


def as_text_has_it(name: str, values: list[Any], ns: int, half: int) -> list[Any]:
    if name == "time_ns":
        return [(value + half) // ns * ns for value in values]
    if name == "ret":
        return [min(value, 1) for value in values]
    return values


# Every event of one CPU after the other, each CPU's in its own order.
def by_cpu(table: pa.Table, names: list[str], ns: int, half: int = 0) -> list[tuple[Any, ...]]:
    columns = [as_text_has_it(name, table[name].to_pylist(), ns, half) for name in names]
    return sorted(zip(*columns, strict=True), key=lambda row: row[names.index("common_cpu")])


def assert_same(
    text: Path, other: Path, ns: int = 1, absent: frozenset[str] = frozenset(), half: int = 0
) -> Counter[str]:
    """
    Events and fields of both captures are the same; how many there are of each.

    :param ns: resolution of the text
    :param half: added before times are cut to it, where the writer rounds
    :param absent: columns that the text lacks besides `common_type`, or shows in another way
    """
    found, wanted = tables(text), tables(other)
    assert set(found) == set(wanted)
    for event, table in found.items():
        names = [name for name in wanted[event].column_names if name not in ABSENT | absent]
        assert set(names) <= set(table.column_names), event
        for name in names:
            assert kind(table, name) == kind(wanted[event], name), (event, name)
        theirs = by_cpu(wanted[event], names, ns, half)
        assert by_cpu(table, names, ns) == theirs, event
    return Counter({event: len(table) for event, table in found.items()})


def kind(table: pa.Table, name: str) -> pa.DataType:
    found = table.schema.field(name).type
    return found.value_type if pa.types.is_dictionary(found) else found


# Text of ftrace with switches alone: nothing of networking was recorded.
_LINE = (
    "{comm:>16}-{tid:<7} [000] d..2. {second}.{us:06d}: sched_switch: prev_comm={comm} "
    "prev_pid={tid} prev_prio=120 prev_state=R ==> next_comm={other} next_pid={next} next_prio=120"
)
# A clock that counts from 1970.
_SECOND = 1_700_000_000


# Of one CPU: a task, idle, ..., a millisecond each; of one switch a window without length.
def switches(path: Path, count: int = 4) -> Path:
    tasks = [("swapper/0", 0), ("openssl", 500)]
    lines = ["# tracer: nop", "#", "# entries-in-buffer/entries-written: 1/1   #P:1", "#"]
    for at in range(count):
        (comm, tid), (other, following) = tasks[at % 2], tasks[1 - at % 2]
        given = {"comm": comm, "tid": tid, "other": other, "next": following}
        lines.append(_LINE.format(second=_SECOND, us=1000 * at, **given))
    path.write_text("\n".join(lines) + "\n")
    return path


VEC = "vec={vec} [action=]"
WAKEUP = "comm={comm} pid={pid} prio={prio} target_cpu={target_cpu:03}"
PRINTED = {
    "irq:irq_handler_entry": "irq={irq} name={name}",
    "irq:irq_handler_exit": "irq={irq} ret=handled",
    **dict.fromkeys(("irq:softirq_raise", "irq:softirq_entry", "irq:softirq_exit"), VEC),
    "napi:napi_poll": (
        "napi poll on napi struct {napi:016x} for device {dev_name} work {work} budget {budget}"
    ),
    **dict.fromkeys(("sched:sched_waking", "sched:sched_wakeup"), WAKEUP),
    "sched:sched_migrate_task": (
        "comm={comm} pid={pid} prio={prio} orig_cpu={orig_cpu} dest_cpu={dest_cpu}"
    ),
    "sched:sched_switch": (
        "prev_comm={prev_comm} prev_pid={prev_pid} prev_prio={prev_prio} prev_state={state} ==> "
        "next_comm={next_comm} next_pid={next_pid} next_prio={next_prio}"
    ),
}


# A described recording as perf script would print it, but for its losses.
def write_text(told: Recording, path: Path, head: str = "") -> Path:
    lines = []
    for name, table in Capture(str(told.write(path.with_suffix(".data")))).all_events().items():
        for row in pa.table(table).to_pylist():
            row["state"] = "S" if row.get("prev_state") else "R"
            seconds, ns = divmod(row["time_ns"], 10**9)
            who = f"{row['common_comm']} {row['common_pid']} [{row['common_cpu']:03}]"
            text = PRINTED[name].format(**row)
            lines.append((row["time_ns"], f"{who} {seconds}.{ns:09}: {name}: {text}\n"))
    path.write_text(head + "".join(text for _, text in sorted(lines, key=lambda one: one[0])))
    return path


# Names as a stranger may choose them: each would do harm, or vanish, in one form or another.
HOSTILE = (
    "<b>bold</b>",
    "a|b*c*",
    "two\nlines",
    "\x1b[31mred\x07",
    "-o",
    "`code` _em_ $x$ &amp; [l](http://h)",
    "# heading",
    "'; rm -rf / #",
)
