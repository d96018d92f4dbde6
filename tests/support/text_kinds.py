# A text of each kind, with a little of everything in it, line by line.

from functools import cache

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
