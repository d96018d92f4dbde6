# What `perf script` hands to a Python script for every sample: the second opinion on whole files.

import json
from pathlib import Path
from typing import Any

from support.oracle import perf_python

# Runs inside perf. Events with a recorded format come field by field, all others as one dictionary.
HANDLER = """
import json, sys

def plain(value):
    return value.decode("latin-1") if isinstance(value, (bytes, bytearray)) else value

def chain(frames):
    return [frame["ip"] for frame in frames]

def say(event, comm, sample, callchain, fields):
    wanted = ("pid", "tid", "cpu", "time", "ip", "addr", "period", "phys_addr", "weight")
    found = {name: sample[name] for name in wanted if name in sample}
    found.update(event=event, comm=comm, callchain=chain(callchain), fields=fields)
    sys.stdout.write(json.dumps(found) + "\\n")

def process_event(told):
    say(told["ev_name"], told["comm"], told["sample"], told.get("callchain", []), None)

def trace_unhandled(event, context, fields, told):
    fields = {name: plain(value) for name, value in fields.items()}
    callchain = fields.pop("common_callchain", [])
    comm = fields.pop("common_comm")
    fields.pop("common_s"), fields.pop("common_ns"), fields.pop("common_cpu")
    say(event.replace("__", ":", 1), comm, told["sample"], callchain, fields)
"""


def handled_samples(path: Path, scratch: Path) -> list[dict[str, Any]]:
    lines = perf_python(HANDLER, path, scratch)
    return [json.loads(line) for line in lines if line.startswith("{")]
