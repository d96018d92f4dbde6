# The ways that are measured from inside: `python -m benchmarks.in_process WAY CAPTURE [CPUS]`
# prints its seconds as JSON; CPUS: those it may use, as 0 or 0,1.

import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netcost_analysis._native import Capture


def decode(path: str) -> int:
    """All events to typed Arrow columns."""
    import pyarrow as pa

    from netcost_analysis._native import Capture

    tables = {name: pa.table(table) for name, table in Capture(path).all_events().items()}
    return sum(table.num_rows for table in tables.values())


def walk(path: str) -> int:
    """All records and their headers, counted; no column is built."""
    from netcost_analysis._native import Capture

    return sum(Capture(path).scan()["events"].values())


@cache
def counted(path: str) -> "Capture":
    from netcost_analysis._native import Capture

    capture = Capture(path)
    capture.scan()
    return capture


def sums(path: str) -> int:
    """The sums of the ledger, of a capture that has been counted."""
    return counted(path).timeline([])["sums"].num_rows


def tables(path: str) -> int:
    """Segments, softirqs and polls as Arrow tables, of a capture that has been counted."""
    told = counted(path).timeline(["segments", "softirqs", "polls"])["tables"]
    return sum(table.num_rows for table in told.values())


def timeline(path: str) -> int:
    """Decode, ledger, and segments, softirqs and polls as DataFrames."""
    import netcost_analysis

    told = netcost_analysis.open_capture(path).timeline().load("segments", "softirqs", "polls")
    return len(told.segments) + len(told.softirqs) + len(told.polls)


# What people do today: the text of perf script through a regular expression into a DataFrame.
LINE = re.compile(
    r"^\s*(?P<comm>.+?)\s+(?P<tid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<time>[\d.]+):\s+(?P<event>\S+):\s?(?P<rest>.*)$",
    re.MULTILINE,
)


def into_pandas(text: str) -> int:
    import pandas as pd

    columns = ["comm", "tid", "cpu", "time", "event", "rest"]
    frame = pd.DataFrame.from_records(LINE.findall(text), columns=columns)
    return len(frame.astype({"tid": int, "cpu": int, "time": float}))


def script_regex(path: str) -> int:
    """`perf script` and a regular expression, into a DataFrame."""
    command = ["perf", "script", "-i", path]
    return into_pandas(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def text_regex(path: str) -> int:
    """The same of a text that is there already."""
    return into_pandas(Path(path).read_text())


def ask(name: str) -> Callable[[str], int]:
    """A question, from opening the capture to its answer."""

    def asked(path: str) -> int:
        import netcost_analysis as netcost

        return len(netcost.open_capture(path).ask(name).parts)

    return asked


WAYS = {
    "walk": walk,
    "decode": decode,
    "sums": sums,
    "tables": tables,
    "timeline": timeline,
    "script_regex": script_regex,
    "text_regex": text_regex,
}
# What takes many times as long is called once.
ONCE = {"script_regex", "text_regex"}


def cpu_time() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


# The first call of a process also pays the kernel for every page of memory it touches.
def again(call: Callable[[], int]) -> float:
    runs = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        runs.append(time.perf_counter() - start)
    return median(runs)


def main(way: str, path: str, cpus: str | None = None) -> None:
    if cpus is not None:
        os.sched_setaffinity(0, map(int, cpus.split(",")))
    import pandas as pd  # noqa: F401
    import pyarrow as pa  # noqa: F401

    import netcost_analysis  # noqa: F401

    # The capture in the page cache: what a second look costs, not what the disk does.
    with Path(path).open("rb") as stream:
        while stream.read(1 << 20):
            pass
    call = WAYS[way] if way in WAYS else ask(way.removeprefix("ask:"))
    if way not in WAYS:
        import matplotlib  # noqa: F401
        import scipy.stats  # noqa: F401
    wall, cpu = time.perf_counter(), cpu_time()
    call(path)
    told = {"seconds": time.perf_counter() - wall, "cpu_seconds": cpu_time() - cpu}
    if way in WAYS and way not in ONCE:
        told["again_seconds"] = again(lambda: call(path))
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
