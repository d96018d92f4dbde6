# The sample of a NIC as whoever records without the kit would have it: of the victim what the trace
# shows, and beside the trace its output, the kernel's configuration and counters before and after.

import json
import shutil
from pathlib import Path

from netcost_analysis import open_capture
from support.host import SAMPLES

NIC = SAMPLES / "nic-stolen-time"
LEFT_OUT = ("mpstat.json", "pidstat.txt", "victim_stat", "samples")


def unnoted(folder: Path) -> Path:
    shutil.copytree(NIC, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    seen = open_capture(NIC / "trace.perf.data", victim_output=NIC / "victim.txt").bundle
    assert seen is not None
    assert seen.victim is not None
    start_ns, end_ns = seen.victim.start_ns, seen.victim.end_ns
    assert start_ns is not None
    assert end_ns is not None
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
