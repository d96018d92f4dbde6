# A sample's bundle again, with its trace as a text of perf script from which something is missing,
# or in which the victim ends before its time. Nothing says that it is so.

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from netcost_analysis import Bundle, open_capture

Row = dict[str, Any]
_STATES = {0: "R", 1: "S", 2: "D", 16: "X", 32: "Z", 128: "I"}
# The kernel's own print formats.
_PRINTED: dict[str, Callable[[Row], str]] = {
    "irq_handler_entry": lambda row: f"irq={row['irq']} name={row['name']}",
    "irq_handler_exit": lambda row: f"irq={row['irq']} ret=handled",
    "napi_poll": lambda row: (
        f"napi poll on napi struct {row['napi']:#x} for device {row['dev_name']} "
        f"work {row['work']} budget {row['budget']}"
    ),
    "sched_switch": lambda row: (
        f"prev_comm={row['prev_comm']} prev_pid={row['prev_pid']} prev_prio={row['prev_prio']} "
        f"prev_state={_STATES.get(row['prev_state'], 'R+')} ==> next_comm={row['next_comm']} "
        f"next_pid={row['next_pid']} next_prio={row['next_prio']}"
    ),
    "sched_migrate_task": lambda row: (
        f"comm={row['comm']} pid={row['pid']} prio={row['prio']} orig_cpu={row['orig_cpu']} "
        f"dest_cpu={row['dest_cpu']}"
    ),
}
for _name in ("softirq_raise", "softirq_entry", "softirq_exit"):
    _PRINTED[_name] = lambda row: f"vec={row['vec']} [action={_ACTIONS[row['vec']]}]"
for _name in ("sched_waking", "sched_wakeup"):
    _PRINTED[_name] = lambda row: (
        f"comm={row['comm']} pid={row['pid']} prio={row['prio']} target_cpu={row['target_cpu']:03d}"
    )
_ACTIONS = [
    "HI",
    "TIMER",
    "NET_TX",
    "NET_RX",
    "BLOCK",
    "IRQ_POLL",
    "TASKLET",
    "SCHED",
    "HRTIMER",
    "RCU",
]


# The events that matter to the ledger, in order of time.
def rows_of(sample: Path) -> list[Row]:
    capture = open_capture(sample)
    found = []
    for event, frame in capture.all_events().items():
        short = event.partition(":")[2]
        if short in _PRINTED or event.startswith("irq_vectors:"):
            found += [{"event": event, **row} for row in frame.to_dict("records")]
    return sorted(found, key=lambda row: int(row["time_ns"]))


def line(row: Row) -> str:
    at, event = int(row["time_ns"]), row["event"]
    printed = _PRINTED.get(event.partition(":")[2], lambda row: f"vector={row.get('vector', 0)}")
    who = f"{row['common_comm']} {row['common_pid']} [{row['common_cpu']:03d}]"
    return f"{who} {at // 10**9}.{at % 10**9:09d}: {event}: {printed(row)}\n"


def written(sample: Path, rows: list[Row], folder: Path) -> Path:
    # Unpacked for as long as it is used.
    beside = Bundle(sample)
    shutil.copytree(beside.path, folder, ignore=shutil.ignore_patterns("trace*"))
    (folder / "trace.txt").write_text("".join(map(line, rows)))
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"trace": "trace.txt"}))
    return folder


# What a CPU's ring lost in each span of time, with the line that says so in texts.
def losing(rows: list[Row], cpu: int, *spans: tuple[int, int]) -> str:
    told, rest, gone = [], list(spans), 0
    for row in rows:
        while rest and row["time_ns"] >= rest[0][1]:
            told.append(f"CPU:{cpu} [LOST {gone} EVENTS]\n")
            rest.pop(0)
            gone = 0
        if rest and rest[0][0] <= row["time_ns"] and row["common_cpu"] == cpu:
            gone += 1
        else:
            told.append(line(row))
    return "".join(told)


def without(rows: list[Row], *events: str, cpu: int | None = None, each: int = 1) -> list[Row]:
    # Every so many-th of the named events is gone, or of a CPU's; of all where none is named.
    kept, seen = [], 0
    for row in rows:
        named = not events or row["event"].partition(":")[2] in events
        hit = named and cpu in (None, row["common_cpu"])
        seen += hit
        if not hit or seen % each:
            kept.append(row)
    return kept


# From then on the CPU idles where the task ran.
def ending(rows: list[Row], comm: str, at_ns: int) -> list[Row]:
    told = []
    for row in rows:
        if row["time_ns"] < at_ns:
            told.append(row)
            continue
        idle = {}
        for name in ("common", "prev", "next"):
            if row.get(f"{name}_comm") == comm:
                idle |= {f"{name}_comm": "swapper", f"{name}_pid": 0}
        # Nobody wakes the dead.
        if row.get("comm") != comm:
            told.append(row | idle)
    return told
