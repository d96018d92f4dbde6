# perf's own tools as a second opinion: each function runs one and returns what it printed, parsed.
# They share no code with the decoder under test.

import json
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import netcost_analysis as netcost
from support.host import SAMPLES, missing, require_tool

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


# What `perf report -D` says of every sample: it prints each field as perf decoded it, whatever the
# byte order of the recorder.
HEAD = re.compile(
    r"^(?:(?:(?P<cpu>\d+) )?(?P<time>\d+) )?(?:0x[0-9a-f]+|0) \[0x[0-9a-f]+\]: "
    r"PERF_RECORD_SAMPLE\(\w+, (?P<misc>\w+)\): (?P<pid>-?\d+)/(?P<tid>-?\d+): "
    r"(?P<ip>\w+) period: (?P<period>\d+) addr: (?P<addr>\w+)$"
)
CHAIN = re.compile(r"^\.\.\. FP chain: nr:(\d+)$")
BRANCHES = re.compile(r"^\.\.\. branch (?:stack|callstack): nr:(\d+)$")
REGISTERS = re.compile(r"^\.\.\. (user|intr) regs: mask")
FRAME = re.compile(r"^\.\.\.\.\. +\d+: ([0-9a-f]{16})$")
BRANCH = re.compile(r"^\.\.\.\.\. +\d+: ([0-9a-f]+) -> ([0-9a-f]+) ")
REGISTER = re.compile(r"^\.\.\.\. \w+ +(0x\w{16})$")
COUNT = re.compile(r"^\.{5} id (\w+), value (\w+)(?:, lost (\d+))?$")
# One number each, as perf's format prints it.
NUMBERS = {
    "data_src": (re.compile(r"^ \. data_src: 0x(\w+)$"), 16),
    "phys_addr": (re.compile(r"^ \.\. phys_addr: 0x(\w+)$"), 16),
    "weight": (re.compile(r"^\.\.\. weight: (\d+)"), 10),
    "weight2": (re.compile(r"^\.\.\. weight: \d+,0x(\w+)"), 16),
    "transaction": (re.compile(r"^\.\.\. transaction: (\w+)$"), 16),
    "time_enabled_ns": (re.compile(r"^\.{6} time enabled (\w+)$"), 16),
    "time_running_ns": (re.compile(r"^\.{6} time running (\w+)$"), 16),
    "stack": (re.compile(r"^\.\.\. ustack: size (\d+)"), 10),
}


# Every field that perf printed, under the name of its column; `counts` are {id: value}.
def dumped_samples(path: Path) -> list[dict[str, Any]]:
    output = run(require_tool("perf"), "report", "-f", "-D", "-i", path)
    samples: list[dict[str, Any]] = []
    now: dict[str, Any] = {}
    registers: list[int] = []
    for line in output.splitlines():
        if found := HEAD.match(line):
            said = found.groupdict()
            now = {name: int(value, 0) for name, value in said.items() if value is not None}
            samples.append(now)
        elif line.startswith(".  "):
            # A record's bytes, which are most of the dump.
            continue
        elif not line.startswith((".", " .")):
            # Between samples stand other records, whose lines look alike.
            now = now if line.startswith(" ") else {}
        elif CHAIN.match(line):
            now["callchain"] = []
        elif BRANCHES.match(line):
            now["branches"] = []
        elif found := REGISTERS.match(line):
            registers = now[f"{found[1]}_registers"] = []
        elif found := FRAME.match(line):
            now["callchain"].append(int(found[1], 16))
        elif found := BRANCH.match(line):
            now["branches"].append((int(found[1], 16), int(found[2], 16)))
        elif found := REGISTER.match(line):
            registers.append(int(found[1], 16))
        elif found := COUNT.match(line):
            now.setdefault("counts", {})[int(found[1], 16)] = int(found[2], 16)
        else:
            for name, (pattern, base) in NUMBERS.items():
                if found := pattern.match(line):
                    now[name] = int(found[1], base)
    return samples


LINE = re.compile(r"^.*?(\d+) \[(\d+)\] +([\d.]+): +(\S+): +(.*)$")


# What perf prints, as (cpu, time, tid, event, its text); the sample is unpacked for as long.
def printed(sample: str) -> list[tuple[int, int, int, str, str]]:
    bundle = netcost.Bundle(SAMPLES / sample)
    perf = require_tool("perf")
    text = run(
        perf, "script", "-f", "--ns", "-F", "comm,tid,cpu,time,event,trace", "-i", bundle.trace
    )
    rows = []
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            tid, number, time, event, rest = match.groups()
            rows.append((int(number), int(time.replace(".", "")), int(tid), event, rest))
    return rows
