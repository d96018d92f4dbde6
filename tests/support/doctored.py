# A bundle written by hand, in which every account of the victim's time has a value of its own.
#
#   trace         1.16 ms of openssl on CPU 0, 174 us of it in interrupts: traced 0.85
#   victim.txt    600 blocks in 2 s, of which times(2) says 1.5; alone 1000 in 2 s: work 0.6
#   victim_stat   198 ticks of 2 s: 0.99
#   samples       400 us of run time after 500 us: 0.8
#   /proc/stat    150 of 200 ticks user, 4 stolen by a hypervisor
#   mpstat        three intervals of 0.5 ms from the start: the third ends after the run
#   interrupts    20,000 in 2 s

import json
import shutil
from pathlib import Path
from typing import Any

from netcost_analysis import open_capture
from support.host import SAMPLES
from support.perfdata import recording
from support.told import robbed

HEAD = "           CPU0\n"
ENDED = "ended 1161000 9 (sh) S 1 1 1 0 -1 0 0 0 0 0 0 0 {user} {system} 20 0 1 0 0" + " 0" * 30
KINDS = ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle")


def speed(blocks: int, user_s: float) -> str:
    return f"Doing sha256 for 2s on 1024 size blocks: {blocks} sha256's in {user_s:.2f}s\n"


def counters(folder: Path, at_ns: int, stat: str, interrupts: int) -> None:
    folder.mkdir()
    files = ("stat", "interrupts", "net_softnet_stat")
    stamp = [f"monotonic_ns {at_ns}"] + [f"{name} {at_ns - 5} {at_ns + 5}" for name in files]
    (folder / "stamp").write_text("\n".join(stamp) + "\n")
    (folder / "stat").write_text(f"cpu  {stat}\ncpu0 {stat}\nctxt 1\n")
    (folder / "interrupts").write_text(f"{HEAD}CAL: {interrupts} Function calls\nERR: 7\n")
    (folder / "net_softnet_stat").write_text(f"{interrupts * 2:08x} 0 0\n")


def mpstat(*users: float) -> str:
    loads = [
        [{"cpu": "all"} | dict.fromkeys(KINDS, 0.0), {"cpu": "0"} | dict.fromkeys(KINDS, 0.0)]
        for _ in users
    ]
    for load, user in zip(loads, users, strict=True):
        load[1] |= {"usr": user, "soft": 30.0, "idle": 70 - user}
    told = [{"timestamp": "16:00:01", "cpu-load": load} for load in loads]
    return json.dumps({"sysstat": {"hosts": [{"nodename": "lab", "statistics": told}]}})


def doctored(folder: Path, **fields: Any) -> Path:
    folder.mkdir()
    victim = {"command": "openssl speed", "cpu": 0, "pid": 500, "output": "victim.txt"}
    victim |= {"start_ns": 1000, "end_ns": 1_161_000, "user_s": 1.5, "system_s": 0.4, "wall_s": 2.0}
    (folder / "baseline").mkdir()
    (folder / "baseline" / "victim.txt").write_text(speed(1000, 2))
    alone = victim | {"user_s": 1.9, "system_s": 0.0}
    (folder / "baseline" / "manifest.json").write_text(
        json.dumps({"netcost_bundle": 1, "victim": alone})
    )
    manifest = {
        "netcost_bundle": 1,
        "trace": "trace.perf.data",
        "record_command": "netcost-record --interval 0.0005 -o x",
        "victim": victim,
        "baseline": "baseline/",
        "companions": [{"name": "mpstat", "output": "mpstat.json", "start_ns": 1000}],
    }
    (folder / "manifest.json").write_text(json.dumps(manifest | fields))
    (folder / "victim.txt").write_text(speed(600, 1.5))
    (folder / "victim_stat").write_text("started x\n" + ENDED.format(user=150, system=48) + "\n")
    (folder / "kernel_config").write_text("CONFIG_TICK_CPU_ACCOUNTING=y\nCONFIG_HZ=250\n")
    (folder / "mpstat.json").write_text(mpstat(60.0, 50.0, 0.0))
    (folder / "samples").mkdir()
    (folder / "samples" / "victim").write_text(
        "@ 1 500900 501100\n500 schedstat 400000 100000 3\n"
        "@ 2 1999000 2001000\n500 schedstat 1 1 1\n"
    )
    counters(folder / "before", 10**9, "100 0 10 50 5 0 20 0 0 0", 1000)
    counters(folder / "after", 3 * 10**9, "250 0 12 50 5 0 64 4 0 0", 21000)
    recording(robbed(), known=(robbed().first_task,)).write(folder / "trace.perf.data")
    return folder


# The sample of a NIC as whoever records without the kit would have it: of the victim what the trace
# shows, and beside the trace its output, the kernel's configuration and counters before and after.
NIC = SAMPLES / "nic-stolen-time"
LEFT_OUT = ("mpstat.json", "pidstat.txt", "victim_stat", "samples")


def unnoted(folder: Path) -> Path:
    shutil.copytree(NIC, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    seen = open_capture(NIC / "trace.perf.data", victim_output=NIC / "victim.txt").bundle
    start_ns, end_ns = seen.victim.start_ns, seen.victim.end_ns
    manifest = json.loads((NIC / "manifest.json").read_text())
    manifest["victim"] |= {
        "start_ns": start_ns,
        "end_ns": end_ns,
        "user_s": None,
        "system_s": None,
        "wall_s": (end_ns - start_ns) / 1e9,
    }
    manifest["load"] |= {"start_ns": None, "end_ns": None}
    manifest |= {"window": None, "completeness": None, "companions": []}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder
