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

# Runs inside `perf script -s`: perf decodes the event by its recorded format and hands over the
# fields one by one.
HANDLER = """
import json, sys
from perf_trace_context import common_flags, common_pc

def plain(value):
    return value.decode("latin-1") if isinstance(value, (bytes, bytearray)) else value

def trace_unhandled(event, context, fields, sample=None):
    fields = {name: plain(value) for name, value in fields.items()}
    fields.pop("common_callchain", None)
    fields["common_flags"] = common_flags(context)
    fields["common_preempt_count"] = common_pc(context)
    sys.stdout.write(json.dumps([event, fields]) + "\\n")
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


# What a handler that perf runs for every sample has said.
def perf_python(handler: str, path: Path, scratch: Path) -> list[str]:
    perf = require_tool("perf")
    script = scratch / "handler.py"
    script.write_text(handler)
    done = subprocess.run(
        [perf, "script", "-f", "-i", path, "-s", script], capture_output=True, text=True
    )
    if "not supported" in done.stderr or "unsupported" in done.stderr.lower():
        missing("this perf was built without Python")
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout.splitlines()


def perf_handler(path: Path, scratch: Path) -> list[Seen]:
    seen = []
    for line in perf_python(HANDLER, path, scratch):
        if not line.startswith("["):
            continue
        event, fields = json.loads(line)
        time = fields.pop("common_s") * 1_000_000_000 + fields.pop("common_ns")
        cpu, pid = fields.pop("common_cpu"), fields.pop("common_pid")
        seen.append(Seen(event.replace("__", ":", 1), time, cpu, pid, fields))
    return seen


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
