# Damaged texts without end: each is a number, from which alone it follows. As a program, it reads
# a range of them in one process that the kernel ends when it takes too much time or memory.

import resource
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random

import pyarrow as pa

from netcost_analysis._native import Capture, CaptureError

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
BYTES = b"[]():=-/ .0123456789\t\r\n#,xXNS>\x00\xff\x80"


def damaged(line: str, random: Random) -> bytes:
    data = bytearray(line.encode())
    for _ in range(random.choice((1, 1, 2, 5))):
        at = random.randrange(len(data) or 1)
        match random.randrange(6):
            case 0 if data:
                data[at] = random.choice(BYTES)
            case 1:
                data[at:at] = bytes(random.choices(BYTES, k=random.choice((1, 3, 20, 300))))
            case 2:
                del data[at : at + random.choice((1, 4, 30))]
            case 3:
                del data[at:]
            case 4:
                number = random.choice((0, -1, 255, 65536, 2**31, 2**32, 2**63, 10**19, 10**30))
                data[at : at + random.choice((0, 3))] = str(number).encode()
            case _:
                piece = data[at : at + 40]
                to = random.randrange(len(data) or 1)
                data[to:to] = piece * random.choice((1, 2, 100))
    return bytes(data)


# A text of which one line is damaged, or many; its kind; and the damaged lines' numbers.
def mutant(number: int) -> tuple[bytes, str, set[int]]:
    random = Random(number)
    kind = sorted(LINES)[number % len(LINES)]
    whole = lines(kind)
    several = random.choice((1, 1, 2, len(whole) // 2))
    places = set(random.sample(range(len(whole)), several))
    data = [damaged(one, random) if n in places else one.encode() for n, one in enumerate(whole)]
    if several > 1 and random.random() < 0.2:
        random.shuffle(data)
    return b"\n".join(data), kind, places


# Which event is read by itself too follows from the number.
def read(path: Path, number: int) -> list[str]:
    steps = []
    try:
        capture = Capture(str(path))
        steps.append("open")
        capture.header()
        scan = capture.scan()
        found = {name: pa.table(table) for name, table in capture.all_events().items()}
        for name, count in scan["events"].items():
            assert len(found[name]) <= count
        if found:
            alone = sorted(found)[number % len(found)]
            assert pa.table(capture.events(alone)).equals(found[alone])
        steps.append("events")
        capture.timeline(["segments", "softirqs", "hardirqs", "polls", "slices", "migrations"])
        steps.append("timeline")
    except CaptureError as error:
        if not str(error).isprintable():
            raise AssertionError(repr(str(error))) from error
    return steps


def main(start: int, count: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant.txt"
        for number in range(start, start + count):
            print(number, file=sys.stderr)
            path.write_bytes(mutant(number)[0])
            tally.update(["read", *read(path, number)])
    print(dict(tally))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
