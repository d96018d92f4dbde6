# What `perf report -D` says of every sample, parsed: it prints each field as perf decoded it,
# whatever the byte order of the recorder.

import re
from pathlib import Path
from typing import Any

from support.host import require_tool
from support.oracle import run

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
