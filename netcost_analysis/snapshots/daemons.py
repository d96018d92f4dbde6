"""The CPU time and memory of daemons during a recording, by name."""

from contextlib import suppress
from typing import TYPE_CHECKING

import pandas as pd

from .._native import CaptureError
from ..parsers.proc_text import parse_task_stat
from ..parsers.sysstat import parse_pidstat
from .counters import readings

if TYPE_CHECKING:
    from ..capture.bundle import Bundle

# USER_HZ, the unit of CPU time in /proc, is 100 on every architecture that we support.
_TICK_S = 0.01
# Open vSwitch's daemons are part of a data path's cost, whether or not they were requested.
_OF_DATA_PATHS = ("ovs-vswitchd", "ovsdb-server")
_COLUMNS = {"comm": "str", "cpu_share": "float64", "rss_bytes": "float64"}


def daemons(bundle: "Bundle") -> pd.DataFrame:
    """A row per name: comm, cpu_share (1 is one CPU), rss_bytes (peak resident memory).

    Needs a bundle recorded with ``--daemon NAME``, or pidstat beside it for Open vSwitch's daemons.
    Source: /proc/PID/stat and status between the first and the last reading, or the mean of
    pidstat's intervals.
    """
    rows = _listed(bundle) | _sampled(bundle)
    by_name = sorted((name, *figures) for name, figures in rows.items())
    return pd.DataFrame(by_name, columns=list(_COLUMNS)).astype(_COLUMNS)


def _sampled(bundle: "Bundle") -> dict[str, tuple[float, float]]:
    # The CPU share and memory of all processes of a name.
    ticks_at: dict[int, list[tuple[int, int]]] = {}
    names: dict[int, str] = {}
    memory: dict[int, float] = {}
    for begin_ns, end_ns, text in readings(bundle, "daemons"):
        for line in text.splitlines():
            pid, _, rest = line.partition(" ")
            kind, _, value = rest.partition(" ")
            if kind == "stat":
                with suppress(CaptureError):
                    stat = parse_task_stat(value)
                    names[stat.pid] = stat.comm
                    ticks = stat.user_ticks + stat.system_ticks
                    ticks_at.setdefault(stat.pid, []).append(((begin_ns + end_ns) // 2, ticks))
            words = value.split()
            if kind == "status" and words[:1] == ["VmRSS:"] and pid.isdigit() and len(words) > 1:
                kib = float(words[1]) if words[1].isdigit() else 0.0
                memory[int(pid)] = max(memory.get(int(pid), 0.0), 1024 * kib)
    by_name: dict[str, tuple[float, float]] = {}
    for task, points in ticks_at.items():
        (first_ns, first), (last_ns, last) = points[0], points[-1]
        passed_s = (last_ns - first_ns) / 1e9
        used = (last - first) * _TICK_S / passed_s if passed_s > 0 else float("nan")
        share, rss = by_name.get(names[task], (0.0, 0.0))
        by_name[names[task]] = share + used, rss + memory.get(task, 0.0)
    return by_name


def _listed(bundle: "Bundle") -> dict[str, tuple[float, float]]:
    output = bundle.manifest.companion("pidstat").output
    text = bundle.text(output) if output else None
    rows = parse_pidstat(text or "")
    if "cpu_share" not in rows:
        return {}
    rows = rows[rows["comm"].isin(_OF_DATA_PATHS)].assign(
        rss=rows["rss_kib"] if "rss_kib" in rows else float("nan")
    )
    # First per process; then the processes of a name add up.
    processes = rows.groupby(["comm", "pid"]).agg({"cpu_share": "mean", "rss": "max"})
    totals = processes.groupby("comm").sum(min_count=1)
    return {
        str(name): (float(row["cpu_share"]), 1024 * float(row["rss"]))
        for name, row in totals.iterrows()
    }
