"""Parsers for /proc files that host.Snapshot does not cover: tasks, memory, processors."""

import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from .._native import CaptureError

if TYPE_CHECKING:
    import pandas as pd

_SCHEDSTAT = (
    *("yld_count", "legacy", "sched_count", "sched_goidle", "ttwu_count", "ttwu_local"),
    *("run_ns", "wait_ns", "timeslices"),
)
# A 64-bit counter has at most 20 digits.
_COUNTER = re.compile(r"-?[0-9]{1,20}$")
_PID = re.compile("[0-9]{1,9}")
_RUN_NS = re.compile("[0-9]{1,19}")
_MHZ = re.compile(r"^cpu MHz\s*: *([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*$", re.MULTILINE)
_IOMEM = re.compile(r"([0-9a-f]{1,16})-([0-9a-f]{1,16}) : (.+)")
_VMALLOC = re.compile(r"0x([0-9a-f]{16})-0x([0-9a-f]{16})\s+\d+ (\S+)(.*)")
# Addresses of 64-bit kernels have the top bit set. Hidden addresses are 32-bit hashes.
_KERNEL = 1 << 63
_RAM = "System RAM"


def parse_schedstat(text: str) -> "pd.DataFrame":
    """The counters in /proc/schedstat by CPU, versions 15 to 17 (since Linux 2.6.26).

    Source: kernel/sched/stats.c show_schedstat.

    Parameters
    ----------
    text : str
        The file.

    Returns
    -------
    pandas.DataFrame
        A row per CPU (index): yld_count, sched_count, sched_goidle, ttwu_count, ttwu_local, run_ns
        (tasks running on it), wait_ns (tasks waiting for it), timeslices. Empty for no text.

    Raises
    ------
    CaptureError
        For another version, whose times are in jiffies.
    """
    import pandas as pd

    lines = [line.split() for line in text.splitlines()]
    version = next((words[1] for words in lines if words[:1] == ["version"] and words[1:]), None)
    if version not in ("15", "16", "17"):
        if not text.strip():
            return pd.DataFrame(columns=[n for n in _SCHEDSTAT if n != "legacy"], dtype="int64")
        raise CaptureError(f"a schedstat of version {version or 'unknown'}: 15 to 17 are read")
    rows = {
        int(name[3:]): [int(word) for word in words[: len(_SCHEDSTAT)]]
        for name, *words in filter(None, lines)
        if re.fullmatch("cpu[0-9]{1,6}", name)
        and len(words) >= len(_SCHEDSTAT)
        and all(map(_COUNTER.match, words))
    }
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=list(_SCHEDSTAT))
    return frame.drop(columns="legacy").rename_axis(index="cpu")


class TaskStat(NamedTuple):
    """One /proc/PID/stat.

    Attributes
    ----------
    pid, comm, state : int, str, str
        The task and its state.
    user_ticks, system_ticks, child_user_ticks, child_system_ticks : int
        Its CPU time, and that of children it waited for, in ticks of USER_HZ.
    processor : int
        The CPU that it last ran on.
    """

    pid: int
    comm: str
    state: str
    user_ticks: int
    system_ticks: int
    child_user_ticks: int
    child_system_ticks: int
    processor: int


def parse_task_stat(line: str) -> TaskStat:
    """Parse a line of /proc/PID/stat; the name is between the first "(" and the last ")".

    Source: fs/proc/array.c do_task_stat.

    Parameters
    ----------
    line : str
        The line.

    Returns
    -------
    TaskStat
        Its fields.

    Raises
    ------
    CaptureError
        For anything else.
    """
    pid, opened, rest = line.strip().partition(" (")
    comm, closed, fields = rest.rpartition(") ")
    words = fields.split()
    numbers = [words[i] for i in (11, 12, 13, 14, 36)] if len(words) > 36 else []
    if not (opened and closed and numbers and all(map(_COUNTER.match, [pid, *numbers]))):
        raise CaptureError("not a line of /proc/PID/stat")
    return TaskStat(int(pid), comm, words[0], *map(int, numbers))


def parse_victim_stat(text: str) -> dict[str, TaskStat]:
    """The lines of /proc/PID/stat in a bundle's victim_stat, by "began" and "ended".

    Invalid lines are left out.
    """
    stats = {}
    for line in text.splitlines():
        # "ended AT_NS LINE".
        when, _, rest = line.partition(" ")
        with suppress(CaptureError):
            stats[when] = parse_task_stat(rest.partition(" ")[2])
    return stats


class TaskFiles(NamedTuple):
    """One sample of tasks' files: the pids whose files were read, and each one's run time.

    run_ns is None if the kernel's schedstat has another form.
    """

    pids: set[int]
    run_ns: dict[int, int | None]


def parse_task_files(text: str) -> TaskFiles:
    """A sample by netcost-record: lines "PID FILE TEXT", FILE one of stat, schedstat, status."""
    files = TaskFiles(set(), {})
    for line in text.splitlines():
        pid, *words = line.split() or [""]
        if not _PID.fullmatch(pid):
            continue
        files.pids.add(int(pid))
        if words[:1] == ["schedstat"]:
            # "PID schedstat RUN_NS WAIT_NS SLICES".
            known = len(words) == 4 and _RUN_NS.fullmatch(words[1])
            files.run_ns[int(pid)] = int(words[1]) if known else None
    return files


def cpu_mhz(text: str) -> list[float]:
    """The "cpu MHz" of each CPU in /proc/cpuinfo: momentary values if the clock is scaled."""
    return [float(speed) for speed in _MHZ.findall(text)]


def parse_available_memory(text: str) -> int | None:
    """MemAvailable in /proc/meminfo, in bytes; None if it is not there."""
    sizes = (line.split()[1] for line in text.splitlines() if line.startswith("MemAvailable:"))
    return next((int(kib) * 1024 for kib in sizes), None)


class Area(NamedTuple):
    """A range of memory; end is exclusive."""

    start: int
    end: int
    name: str


def ram(text: str) -> list[Area]:
    """The host's RAM by physical address: the top-level "System RAM" lines of /proc/iomem."""
    lines = filter(None, map(_IOMEM.fullmatch, text.splitlines()))
    areas = [Area(int(at[1], 16), int(at[2], 16) + 1, _RAM) for at in lines if at[3] == _RAM]
    # If the addresses are hidden, they are all 0.
    return [area for area in areas if area.end > 1]


def virtual_areas(text: str) -> list[Area]:
    """The areas in /proc/vmallocinfo, named after their allocator; "ioremap" for devices."""
    areas = []
    for match in filter(None, map(_VMALLOC.fullmatch, text.splitlines())):
        start, end = int(match[1], 16), int(match[2], 16)
        name = "ioremap" if " ioremap" in match[4] else match[3].partition("+")[0]
        if _KERNEL <= start < end:
            areas.append(Area(start, end, name))
    return sorted(areas)
