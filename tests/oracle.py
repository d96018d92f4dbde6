# perf's own tools as a second opinion: each function runs one and returns what it printed, parsed.
# They share no code with the decoder under test.

import json
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import require_tool

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


def perf_handler(path: Path, scratch: Path) -> list[Seen]:
    perf = require_tool("perf")
    script = scratch / "handler.py"
    script.write_text(HANDLER)
    done = subprocess.run(
        [perf, "script", "-f", "-i", path, "-s", script], capture_output=True, text=True
    )
    if "not supported" in done.stderr or "unsupported" in done.stderr.lower():
        pytest.skip("this perf was built without Python")
    assert done.returncode == 0, done.stderr[-500:]
    seen = []
    for line in done.stdout.splitlines():
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
