# perf's own tools as a second opinion: each function runs one and returns what it printed, parsed.
# They share no code with the decoder under test.

import json
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.host import missing, require_tool

# Runs inside `perf script -s`. Of events with a recorded format perf hands over the fields one by
# one, as it decoded them.
HANDLER = """
import json, sys
from perf_trace_context import common_flags, common_pc

def plain(value):
    return value.decode("latin-1") if isinstance(value, (bytes, bytearray)) else value

def say(sample, event, comm, fields):
    wanted = ("pid", "tid", "cpu", "time", "ip", "period")
    found = {name: sample[name] for name in wanted if name in sample}
    found.update(event=event, comm=comm, fields=fields)
    sys.stdout.write(json.dumps(found) + "\\n")

def process_event(told):
    say(told["sample"], told["ev_name"], told["comm"], None)

def trace_unhandled(event, context, fields, told):
    fields = {name: plain(value) for name, value in fields.items()}
    for name in ("common_callchain", "common_s", "common_ns", "common_cpu"):
        fields.pop(name, None)
    fields["common_flags"] = common_flags(context)
    fields["common_preempt_count"] = common_pc(context)
    say(told["sample"], event.replace("__", ":", 1), fields["common_comm"], fields)
"""


@dataclass(frozen=True)
class Seen:
    event: str
    time: int
    cpu: int
    pid: int
    fields: dict[str, Any]


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, errors="replace", cwd=cwd
    )
    assert done.returncode == 0, f"{command}: {done.stderr[-500:]}"
    return done.stdout


# Every sample as perf hands it over, its fields under `fields`.
def handled_samples(path: Path, scratch: Path) -> list[dict[str, Any]]:
    script = scratch / "handler.py"
    script.write_text(HANDLER)
    done = subprocess.run(
        [require_tool("perf"), "script", "-f", "-i", path, "-s", script],
        capture_output=True,
        text=True,
    )
    if "not supported" in done.stderr or "unsupported" in done.stderr.lower():
        missing("this perf was built without Python")
    assert done.returncode == 0, done.stderr[-500:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def perf_handler(path: Path, scratch: Path) -> list[Seen]:
    return [
        Seen(one["event"], one["time"], one["cpu"], one["fields"].pop("common_pid"), one["fields"])
        for one in handled_samples(path, scratch)
        if one["fields"] is not None
    ]


def perf_script_counts(path: Path) -> Counter[str]:
    output = run(require_tool("perf"), "script", "-f", "-i", path, "-F", "event")
    return Counter(line.strip().rstrip(":") for line in output.splitlines() if line.strip())


def perf_record_counts(path: Path) -> Counter[str]:
    output = run(require_tool("perf"), "report", "-f", "-D", "-i", path)
    return Counter(re.findall(r"^[^\n]*?: (PERF_RECORD_[A-Z_0-9]+)", output, re.MULTILINE))


@dataclass(frozen=True)
class Work:
    name: str
    id: int
    cpu: int
    total_ns: int
    count: int


# perf kwork's own count: exit minus entry, with whatever interrupted in between.
def perf_kwork(path: Path, kinds: str = "irq,softirq") -> list[Work]:
    perf = require_tool("perf")
    listed = run(perf, "kwork", "-f", "-k", kinds, "report", "-i", path)
    found = []
    for line in listed.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 5 and cells[1].isdigit():
            name, _, number = cells[0].rpartition(":")
            total = round(float(cells[2].removesuffix(" ms")) * 1_000_000)
            found.append(Work(name, int(number), int(cells[1]), total, int(cells[3])))
    return found


# (cpu, time of the switch-out in us, run time in us), first stays of a CPU left out: perf shows 0
# there.
def perf_timehist(path: Path) -> list[tuple[int, int, int]]:
    listed = run(require_tool("perf"), "sched", "-f", "timehist", "-i", path)
    row = re.compile(r"^\s*(\d+)\.(\d{6}) \[(\d+)\]\s.*\s(\d+)\.(\d{3})\s*$")
    found = []
    for line in listed.splitlines():
        if match := row.match(line):
            seconds, micros, cpu, whole, thousandths = map(int, match.groups())
            found.append((cpu, seconds * 1_000_000 + micros, whole * 1000 + thousandths))
    return found


def perf_script(recording: Path, *options: str) -> str:
    command = [require_tool("perf"), "script", "-f", "-i", str(recording), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout
