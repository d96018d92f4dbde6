# A sample's events as perf prints them.

import re

import netcost_analysis as netcost
from support.host import SAMPLES, require_tool
from support.oracle import run

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
